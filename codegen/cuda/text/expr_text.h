// Turns expressions into statements: one element at one point, by one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/cuda/text/function_text.h"

namespace gcg::cuda {

/// The point at which an expression is evaluated. Axis variables have index_type of the axis's range.
struct EvaluationPoint {
  std::map<int, std::string> axes;
  std::map<int, std::string> locals;
  std::string accumulator;
  bool approximates = false;  // f32 functions use gart_fast_math.cuh, because the results are rounded to 16 bits
  std::unordered_map<const ExprNode*, std::string> known;     // nodes whose value already has a name
  std::unordered_map<const ExprNode*, std::string> assigned;  // nodes whose value is also assigned to this name
};

/// The target of an access. `condition` is empty if the element certainly exists.
struct Access {
  IndexText offset;
  std::string condition;
};

/// Expressions that share computed values, all in the C++ block that is open when this object is made.
class ExprText {
 public:
  ExprText(FunctionText& function, const EvaluationPoint& place) : f_(function), place_(place), axes_(place.axes) {}

  /// Emits the statements that `e` needs and returns a name or literal of type_of(dtype). An i64 value is an int if its
  /// range fits.
  std::string value(const Expr& e);
  /// Emits sum = combine(sum, e), in the dtype of `e`; an f32 product is added with one rounding.
  void accumulate(ReduceOp op, const Expr& e, const std::string& sum);
  /// The type of value(e).
  std::string register_type(const Expr& e) { return is_narrow(e) ? "int" : type_of(e->dtype); }
  /// The element number of an access. Emits the check of indices that are read from data.
  Access access(int operand, const std::vector<Expr>& index);
  /// Emits operand[index] = value; `value` has type_of the operand's dtype.
  void store(int operand, const std::vector<Expr>& index, const std::string& value);

 private:
  struct Scope {
    Scope* outer = nullptr;
    std::unordered_map<const ExprNode*, std::string> values;
  };
  class ScopeGuard;

  bool is_narrow(const Expr& e) { return e->dtype == DType::i64 && f_.ranges().of(e).fits_int(); }
  /// As value(), but an i64 is always a long long.
  std::string full_value(const Expr& e);
  IndexText index_value(const Expr& e) { return {value(e), !is_narrow(e)}; }
  /// Declares a constant with this value and returns its name.
  std::string name_it(const std::string& type, const std::string& text);
  std::string leaf(const Expr& e);
  std::string compute(const Expr& e);
  std::string index_arithmetic(const Expr& e);
  std::string checked_index(const Expr& e);
  std::string load(const ExprNode& e);
  std::string select(const Expr& e);
  std::string branch(const Expr& e, const std::string& condition);
  std::string reduce(const Expr& e);
  std::string check_range(const Operand& operand, const std::vector<Expr>& index);

  FunctionText& f_;
  const EvaluationPoint& place_;
  std::map<int, std::string> axes_;
  Scope root_;
  Scope* scope_ = &root_;
};

}  // namespace gcg::cuda
