// Expressions into statements: one element at one point, by one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/cuda/text/function_text.h"

namespace gcg::cuda {

/// Where an expression is evaluated. Variables of axes have index_type of the axis's range.
struct EvaluationPoint {
  std::map<int, std::string> axes;
  std::map<int, std::string> locals;
  std::string accumulator;
  bool approximates = false;  // f32 functions by gart_fast_math.cuh: what becomes of them is rounded to 16 bits
  std::unordered_map<const ExprNode*, std::string> known;  // nodes whose value has a name already
  std::unordered_map<const ExprNode*, std::string> kept;   // nodes whose value is to be assigned to this as well
};

/// Where an access goes: `condition` is empty if the element surely exists.
struct Access {
  IndexText offset;
  std::string condition;
};

/// Evaluations that share what they have computed, all in the C++ block that is open when it is made.
class ExprText {
 public:
  ExprText(FunctionText& function, const EvaluationPoint& place) : f_(function), place_(place), axes_(place.axes) {}

  /// Emits what is needed and returns a name or literal of type_of(dtype). An i64 value that fits is an int.
  std::string value(const Expr& e);
  /// sum = combine(sum, e), in the dtype of `e`; an f32 product is added with one rounding.
  void accumulate(ReduceOp op, const Expr& e, const std::string& sum);
  /// Type of value(e).
  std::string register_type(const Expr& e) { return is_narrow(e) ? "int" : type_of(e->dtype); }
  /// Element number of an access. Emits the check of indices that are read from data.
  Access access(int operand, const std::vector<Expr>& index);
  /// operand[index] = value, of type_of the operand's dtype.
  void store(int operand, const std::vector<Expr>& index, const std::string& value);

 private:
  struct Scope {
    Scope* outer = nullptr;
    std::unordered_map<const ExprNode*, std::string> values;
  };
  class ScopeGuard;

  bool is_narrow(const Expr& e) { return e->dtype == DType::i64 && f_.ranges().of(e).fits_int(); }
  /// value(), an i64 always as long long.
  std::string full_value(const Expr& e);
  IndexText index_value(const Expr& e) { return {value(e), !is_narrow(e)}; }
  /// Declares a constant with this value; returns its name.
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
