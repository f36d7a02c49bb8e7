// One evaluation of an expression at a point: the implementation of ExprEmitter.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "codegen/cpu/expressions/byte_sum.h"
#include "codegen/cpu/expressions/expr_emitter.h"

namespace gcg::cpu {

class Evaluation {
 public:
  Evaluation(FunctionBuilder& f, const Point& point) : f_(f), ir_(f.ir()), axes_(point.axes), point_(point) {
    root_.values.insert(point.known.begin(), point.known.end());
  }

  /// A vector of point.lanes lanes if the value differs between lanes, else a scalar.
  llvm::Value* value(const Expr& e);
  void store(int operand, const std::vector<Expr>& index, llvm::Value* value);
  void fetch_to_store(int operand, const std::vector<Expr>& index, int64_t ahead);
  void store_interleaved(int operand, const std::vector<Expr>& index, const std::vector<llvm::Value*>& values);

 private:
  /// Values that have been computed and are valid at the insertion point. `outer` stays valid inside.
  struct Scope {
    Scope* outer = nullptr;
    llvm::Value* mask = nullptr;  // lanes for which the enclosing selects take this side; null: all
    std::unordered_map<const ExprNode*, llvm::Value*> values, bases;
  };
  /// The address of an access: one element or consecutive elements at the scalar `offset`, or an offset per lane.
  struct Address {
    llvm::Value* offset = nullptr;
    llvm::Value* uniform = nullptr;   // added to each lane's offset; null: nothing
    bool contiguous = false;          // over lanes
    std::vector<int64_t> steps;       // if not empty: the element of lane j is at the scalar `offset` + steps[j]
    llvm::Value* in_range = nullptr;  // for data-dependent indices: True in lanes whose element exists; null: all exist
  };
  /// Opens a scope until the end of the C++ block.
  class ScopeGuard {
   public:
    ScopeGuard(Evaluation& evaluation, llvm::Value* mask) : evaluation_(evaluation) {
      scope_.outer = evaluation.scope_;
      scope_.mask = mask;
      evaluation.scope_ = &scope_;
    }
    ~ScopeGuard() { evaluation_.scope_ = scope_.outer; }
    ScopeGuard(const ScopeGuard&) = delete;
    ScopeGuard& operator=(const ScopeGuard&) = delete;

   private:
    Evaluation& evaluation_;
    Scope scope_;
  };

  bool varies(const Expr& e);
  llvm::Value* compute(const Expr& e);
  llvm::Value* binary(const Expr& e);
  llvm::Value* checked_index(llvm::Value* i, llvm::Value* extent);
  // The value of lane 0, as a scalar; requires a value that is affine in the lane axis.
  llvm::Value* base_value(const Expr& e);
  llvm::Value* axis(int id);
  llvm::Value* load(const ExprNode& e);
  llvm::Value* gradual_load(const ExprNode& e);
  llvm::Value* broadcast_load(const ExprNode& e);
  const ExprNode* quotient_of(const ExprNode& load);
  llvm::Value* quotient_load(const ExprNode& e);
  llvm::Value* looked_up(const ExprNode& e);
  llvm::Value* byte_sum(const ByteSum& sum);
  llvm::Value* select(const Expr& e);
  llvm::Value* branch(const Expr& e, llvm::Value* condition);
  llvm::Value* side(const Expr& e, llvm::Value* mask);
  llvm::Value* reduce(const ExprNode& e);
  void hoist_reductions(const Expr& body, const std::vector<Axis>& axes, std::set<const ExprNode*>& seen);
  llvm::Value* reduce_in_row(const ExprNode& e);
  std::vector<Expr> places_of_loads(const Expr& e);
  std::vector<std::vector<int>> lanes_of_taps(const Expr& place, const Axis& tap);
  llvm::Value* reduce_unrolled(const ExprNode& e, size_t axis, llvm::Value* sum, bool vector);
  llvm::Value* reduce_loops(const ExprNode& e, size_t axis, llvm::Value* sum, bool vector);
  llvm::Value* body_value(const ExprNode& reduce, bool vector);
  void flag_index_error(llvm::Value* wrong, llvm::Value* active);
  Address address(int operand, const std::vector<Expr>& index, llvm::Value* active);
  Address scattered(const Operand& operand, const std::vector<Expr>& index, const std::vector<llvm::Value*>& clamped,
                    llvm::Value* in_range);
  llvm::Value* offsets(const Address& a);  // of all lanes
  std::vector<Expr> terms_of(const Expr& index);
  std::optional<Address> known_steps(const Operand& operand, const std::vector<Expr>& index,
                                     const std::vector<llvm::Value*>& clamped);
  llvm::Value* linear_offset(const Operand& operand, const std::vector<Expr>& index, bool bases,
                             const std::vector<llvm::Value*>& clamped);
  llvm::Value* check_range(const Operand& operand, const std::vector<Expr>& index, llvm::Value* active,
                           std::vector<llvm::Value*>& clamped);
  llvm::Value* both(llvm::Value* a, llvm::Value* b);  // the same for masks, which may be null or scalar
  llvm::Value* either(llvm::Value* a, llvm::Value* b);
  llvm::Value* lanes(llvm::Value* v) { return f_.splat(v, point_.lanes); }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  std::map<int, llvm::Value*> axes_;
  const Point& point_;
  Scope root_;
  Scope* scope_ = &root_;
  std::unordered_map<const ExprNode*, bool> varies_;
};

}  // namespace gcg::cpu
