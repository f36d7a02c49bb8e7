// Runs the CUDA plan of a small graph on the simulated GPU, kernel by kernel, without artifact and runtime, to test the
// kernels' text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/kernel_text.h"
#include "compiler/ir/graph.h"
#include "compiler/kernel/decisions.h"
#include "compiler/kernel/target.h"
#include "compiler/plan/plan.h"

namespace gcg::test {

/// Makes a text that replaces the one that the cost model would choose.
using Emit = std::function<cuda::KernelText(const Kernel&)>;

struct SimulatedRun {
  std::vector<Tensor> outputs;
  std::vector<std::string> kernels;  // the launches in order: function names without their hash
  std::vector<std::string> notes;
  int half_operands = 0;  // operands of the launches that are stored as f16 or bf16
};

/// Chooses this candidate for every kernel, or the last candidate if there are fewer.
class ForcedChoice final : public Decisions {
 public:
  explicit ForcedChoice(size_t candidate) : candidate_(candidate) {}
  std::optional<size_t> choose(const Decision& decision) const override {
    count_ = decision.candidates.size();
    return std::min(candidate_, count_ - 1);
  }
  /// Number of candidates of the last kernel.
  size_t count() const { return count_; }

 private:
  size_t candidate_;
  mutable size_t count_ = 1;
};

Target gpu_target(const std::string& name, Precision precision = Precision::fp32);

/// A target, its precision, and the tolerance of its results.
struct ContractionCase {
  const char* target;
  Precision precision;
  double tolerance;
};
std::string case_name(const testing::TestParamInfo<ContractionCase>& info);

/// The product's tiles whose operands are copied as boxes by a separate thread.
std::vector<cuda::ProductTile> loop_tiles(const cuda::Product& product, const Target& target);

/// The schedule of the graph after the CUDA passes, which change `graph`.
Plan cuda_plan(Graph& graph, const Target& target);
inline Plan cuda_plan(Graph&& graph, const Target& target) { return cuda_plan(graph, target); }

/// Runs the graph's CUDA plan. `symbols`: extents for the launch; the plan leaves them open.
SimulatedRun run_simulated(const Graph& graph, const std::vector<Tensor>& inputs, const Target& target,
                           const SymbolValues& symbols = {}, const Emit& emit = nullptr);

/// Runs on random inputs and compares with the interpreter: |got - want| <= tolerance * (1 + |want|).
SimulatedRun expect_simulates(const std::string& gir, const Target& target, double tolerance,
                              const SymbolValues& symbols = {}, const Emit& emit = nullptr);

}  // namespace gcg::test
