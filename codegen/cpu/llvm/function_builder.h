// Builds the LLVM function of one kernel: operands, parameters, loops, vectors, masked memory.
//
// In registers, integers and floats are themselves, and booleans are i1. f16 and bf16 are storage types: they stay 16
// bits in an i16, and arithmetic.h widens and narrows them. In memory, booleans are bytes, 0 or 1.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// How LLVM may change a loop. LLVM does not vectorise it, and unrolls it only if `unroll` requests copies of the body.
struct LoopHint {
  int unroll = 1;
};

/// How an array's values, which are indices, change from element to element. any: in any way; rising: they never fall;
/// gradual: they rise by 0 or 1.
enum class Slope : uint8_t { any, rising, gradual };

class FunctionBuilder {
 public:
  using Values = std::vector<llvm::Value*>;

  /// Starts function `name` in `module`. `imports` is the blob's import table (see imports.h).
  FunctionBuilder(llvm::Module& module, const std::string& name, const CpuTarget& target, const Kernel& kernel,
                  const std::vector<std::string>& imports);

  llvm::IRBuilder<>& ir() { return ir_; }
  llvm::LLVMContext& context() { return module_->getContext(); }
  llvm::Function* function() { return function_; }
  const CpuTarget& target() const { return target_; }
  const Kernel& kernel() const { return kernel_; }

  /// Adds an array in scratch memory to the kernel and returns its operand.
  int add_array(DType dtype, const Dim& extent, Slope slope = Slope::any);
  Slope slope_of(int operand) const;

  // The function's arguments. Each is loaded once, in the entry block.
  llvm::Value* task_begin() { return function_->getArg(1); }
  llvm::Value* task_end() { return function_->getArg(2); }
  /// Address of element 0 of operand `i`; an array of a program is in the scratch memory.
  llvm::Value* operand(int i);
  /// The value of a Dim as i64: a constant, or one run-time parameter per distinct Dim.
  llvm::Value* dim(const Dim& d);
  llvm::Value* scratch();
  /// A function of the import table, at the position where the backend put it (needed_imports).
  llvm::Value* import(const std::string& name);
  /// The address of 32 readable bytes with arbitrary contents, for scalar loads that are masked off.
  llvm::Value* safe_address() { return function_->getArg(0); }
  /// The Dims that became run-time parameters, in slot order.
  const std::vector<Dim>& params() const { return params_; }

  // Types and constants.
  llvm::Type* scalar_type(DType dtype);      // in registers
  llvm::Type* memory_type(DType dtype);      // in memory
  llvm::Type* type(DType dtype, int lanes);  // lanes == 1: the scalar
  llvm::ConstantInt* i64(int64_t value) { return llvm::ConstantInt::getSigned(ir_.getInt64Ty(), value); }
  llvm::Constant* f32(double value) { return llvm::ConstantFP::get(ir_.getFloatTy(), value); }
  /// A floating-point constant of `like`'s type, splat if it is a vector.
  llvm::Constant* constant_like(llvm::Value* like, double value) {
    return llvm::ConstantFP::get(like->getType(), value);
  }
  /// Broadcast of a scalar to `lanes`; a vector is returned as it is.
  llvm::Value* splat(llvm::Value* scalar, int lanes);
  /// <0, 1, ..., lanes-1> as i64 lanes.
  llvm::Value* iota(int lanes);
  /// <lanes x i1> with lane j set where j < count (i64, may exceed `lanes`).
  llvm::Value* first_lanes(llvm::Value* count, int lanes);
  static int lanes_of(llvm::Value* v);
  static bool is_vector(llvm::Value* v) { return v->getType()->isVectorTy(); }

  // Memory: `lanes` contiguous elements at an element offset (i64) from `base`. `mask` (<lanes x i1>, may be null)
  // selects the elements that are touched; the others load as zero. lanes == 1 with a mask (i1) touches memory only if
  // it is true.
  llvm::Value* element_address(llvm::Value* base, DType dtype, llvm::Value* offset);
  llvm::Value* load(llvm::Value* base, DType dtype, llvm::Value* offset, int lanes, llvm::Value* mask = nullptr);
  void store(llvm::Value* value, llvm::Value* base, DType dtype, llvm::Value* offset, llvm::Value* mask = nullptr);
  /// Loads the element offset + steps[j] into lane j, by shuffles of contiguous elements if few registers hold them.
  llvm::Value* load_pattern(llvm::Value* base, DType dtype, llvm::Value* offset, const std::vector<int64_t>& steps,
                            llvm::Value* mask = nullptr);
  /// True if permute can put the elements of one register into the lanes of another in any order.
  bool permutes(DType dtype, int lanes) const {
    return target_.is_x86() && size_of(dtype) == 4 && (lanes == 8 || (lanes == 16 && target_.has_avx512()));
  }
  /// Lane j is vector[places[j]], places (<lanes x i32>) in [0, lanes). Requires permutes.
  llvm::Value* permute(llvm::Value* vector, llvm::Value* places);
  /// Accesses a separate element offset in each lane (<lanes x i64>).
  llvm::Value* gather(llvm::Value* base, DType dtype, llvm::Value* offsets, llvm::Value* mask = nullptr);
  void scatter(llvm::Value* value, llvm::Value* base, DType dtype, llvm::Value* offsets, llvm::Value* mask = nullptr);
  /// Prefetches the cache line of an address. `locality`: 3 = L1, 2 = L2. `write`: a write will follow.
  void prefetch(llvm::Value* address, int locality, bool write = false);

  // Control flow.
  /// for (i = begin; i < end; i += step), all i64, step > 0. The body may create blocks.
  void for_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const std::function<void(llvm::Value*)>& body,
                LoopHint hint = {});
  /// The same with loop-carried values. body(i, carried) returns the next ones; the result is the final ones.
  Values for_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const Values& initial,
                  const std::function<Values(llvm::Value*, const Values&)>& body, LoopHint hint = {});
  /// while (condition()) body(). Both may create blocks.
  void while_loop(const std::function<llvm::Value*()>& condition, const std::function<void()>& body);
  void if_then(llvm::Value* condition, const std::function<void()>& then);
  Values if_else(llvm::Value* condition, const std::function<Values()>& then, const std::function<Values()>& otherwise);

  /// Makes the kernel return GART_KERNEL_INDEX_OUT_OF_RANGE if `condition` (i1, or any lane of a vector) ever holds
  /// here.
  void flag_index_error(llvm::Value* condition);
  /// Returns GART_KERNEL_INDEX_OUT_OF_RANGE from here unless `condition` (i1) holds.
  void return_index_error_unless(llvm::Value* condition);
  /// A variable: a slot in the stack frame that LLVM turns into a register.
  llvm::AllocaInst* variable(DType dtype);
  /// Takes bytes of the stack frame, a multiple of a vector register. After give_memory, other callers may get the same
  /// bytes.
  llvm::AllocaInst* take_memory(int64_t bytes);
  void give_memory(llvm::AllocaInst* memory) { free_memory_.push_back(memory); }

  /// The module's function `name`, which returns nothing; `emit` makes it if it is new. Inside `emit`, function() and
  /// ir() refer to that function, and none of the kernel's values exist. The function ends with a return. The name must
  /// state everything that the code depends on, because kernels share such functions (shared_code.h).
  llvm::Function* shared_function(const std::string& name, const std::vector<llvm::Type*>& arguments,
                                  const std::function<void(llvm::Function&)>& emit);

  /// Ends the function at the insertion point.
  void finish();

 private:
  llvm::Value* entry_load(int field, const std::string& name);  // a field of gart_kernel_args
  llvm::BasicBlock* new_block(const std::string& name);

  llvm::Module* module_;
  const CpuTarget target_;
  Kernel kernel_;
  std::map<int, Slope> slopes_;  // of arrays
  std::vector<std::string> imports_;
  llvm::Function* function_ = nullptr;
  llvm::IRBuilder<> ir_;
  llvm::IRBuilder<> entry_;  // appends to the entry block, which dominates everything
  llvm::BasicBlock* body_ = nullptr;
  llvm::Value* error_slot_ = nullptr;
  std::map<int, llvm::Value*> fields_, operands_;
  std::map<std::string, llvm::Value*> import_values_;
  std::map<Dim, llvm::Value*> dims_;
  std::vector<Dim> params_;
  std::vector<llvm::AllocaInst*> free_memory_;
};

}  // namespace gcg::cpu
