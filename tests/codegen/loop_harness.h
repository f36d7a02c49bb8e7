// Loop kernels in tests: compiled code run in this process against an element-by-element evaluation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/kernel/backend.h"

namespace gcg::test {

/// True if this machine can run code for the target. GPU targets run in the simulation, in the tests of their code
/// generator.
bool runs_here(const std::string& target);
/// x86-64-v3 and x86-64-v4, as far as this machine runs them.
std::vector<std::string> runnable_targets();

/// A kernel's code, mapped readable and executable.
class RunnableKernel {
 public:
  RunnableKernel(const Kernel& kernel, const std::string& target);
  ~RunnableKernel();
  RunnableKernel(const RunnableKernel&) = delete;
  RunnableKernel& operator=(const RunnableKernel&) = delete;

  const CompiledKernel& info() const { return blob_.kernels[0]; }
  int64_t tasks(const SymbolValues& symbols) const { return info().tasks.evaluate(symbols); }
  /// Calls tasks [begin, end) on raw buffers. Returns the kernel's status.
  int32_t call(const std::vector<void*>& buffers, const SymbolValues& symbols, int64_t begin, int64_t end) const;
  /// Runs all tasks on copies of `operands`, with inaccessible memory after each copy. If `split`, makes one call per
  /// task, last task first. Copies back the written operands. Throws InternalError if a kernel wrote to the padding
  /// after an operand.
  int32_t run(std::vector<Tensor>& operands, const SymbolValues& symbols, bool split) const;

 private:
  struct Code;  // code for a CPU, or for the simulation of a GPU (tests/cuda/codegen)

  CompiledBlob blob_;
  const Kernel* kernel_;
  std::unique_ptr<Code> code_;
};

/// Computes the kernel with tests/ops/expr_eval.h, element by element.
void interpret(const Kernel& kernel, std::vector<Tensor>& operands, const SymbolValues& symbols);

/// Random elements: floats in [-range, range], integers in [0, range] or [-range, range].
Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, double range, uint32_t seed);

/// One tensor per operand of the kernel for these extents, all random.
std::vector<Tensor> random_operands(const Kernel& kernel, const SymbolValues& symbols, double range = 4);

/// The operands and symbol values that a kernel runs on.
struct LoopInputs {
  std::vector<Tensor> operands;
  SymbolValues symbols;
};

/// Compiles for every target that runs here and compares all written operands with `interpret`: equal integers, floats
/// within `tolerance` * max(1, |expected|), NaN where NaN is expected. Runs whole and split by tasks, which must agree
/// to the bit.
void expect_matches(const Kernel& kernel, const std::vector<LoopInputs>& inputs, double tolerance = 2e-6);
void expect_matches(const Kernel& kernel, const std::vector<Tensor>& operands, const SymbolValues& symbols = {},
                    double tolerance = 2e-6);

}  // namespace gcg::test
