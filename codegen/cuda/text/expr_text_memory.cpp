// Loads and stores of an ExprText: element numbers, range checks of indices that are read from data.
#include "codegen/cuda/text/expr_text.h"
#include "codegen/cuda/text/operator_text.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {
namespace {

/// True if every element number of the operand fits an int.
bool is_small(const Operand& operand) {
  const auto elements = product(operand.shape).upper_bound();
  return elements && *elements <= INT32_MAX;
}

}  // namespace

std::string ExprText::checked_index(const Expr& e) {
  const Interval range = f_.ranges().of(e->args[0]), extents = f_.ranges().of(e->args[1]);
  const IndexText i = index_value(e->args[0]), extent = index_value(e->args[1]);
  const std::string narrow = i.wide && is_narrow(e) ? "(int)" : "";
  if (range.is_natural() && range.high && extents.low && *range.high < *extents.low) return narrow + i.text;
  const std::string valid =
      name_it("bool", concat("(unsigned long long)", i.as_wide(), " < (unsigned long long)", extent.text));
  f_.open("if (!", valid, ")");
  f_.flag_index_error();
  f_.close();
  return concat(valid, " ? ", narrow, i.text, " : 0");
}

/// Emits a check of the indices that come from data and that arithmetic does not bound. Returns an empty string if
/// there are none.
std::string ExprText::check_range(const Operand& operand, const std::vector<Expr>& index) {
  std::string all;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!is_checked(f_.kernel(), index[d])) continue;
    const Dim extent = index.size() == operand.shape.size() ? operand.shape[d] : product(operand.shape);
    const Interval range = f_.ranges().of(index[d]);
    if (range.is_natural() && range.high && extent.lower_bound() && *range.high < *extent.lower_bound()) continue;
    const std::string i = full_value(index[d]);
    all += concat(all.empty() ? "" : " & ", "((unsigned long long)", i, " < (unsigned long long)", f_.dim(extent).text,
                  ")");
  }
  if (all.empty()) return all;
  const std::string valid = name_it("bool", all);
  f_.open("if (!", valid, ")");
  f_.flag_index_error();
  f_.close();
  return valid;
}

Access ExprText::access(int operand, const std::vector<Expr>& index) {
  const Operand& op = f_.kernel().operands[static_cast<size_t>(operand)];
  Access result;
  result.condition = check_range(op, index);
  // Valid indices times their strides are below the number of elements, so they fit the same type.
  const bool wide = !is_small(op);
  const std::vector<Dim> strides = access_strides(op, index);
  std::string sum;
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d]->kind == ExprKind::constant && index[d]->integer == 0) continue;
    const IndexText i = index_value(index[d]);
    std::string term = wide ? i.as_wide() : i.wide ? concat("(int)", i.text) : i.text;
    if (!strides[d].is(1)) {
      const IndexText stride = f_.dim(strides[d]);
      term += " * " + (wide ? stride.as_wide() : stride.wide ? concat("(int)", stride.text) : stride.text);
    }
    sum += (sum.empty() ? "" : " + ") + term;
  }
  result.offset = {sum.empty() ? "0" : sum, wide};
  return result;
}

std::string ExprText::load(const ExprNode& e) {
  const Access a = access(e.operand, e.args);
  std::string text = concat(f_.pointer(e.operand), "[", a.offset.text, "]");
  if (e.dtype == DType::boolean) text += " != 0";
  if (!a.condition.empty())
    text = concat(a.condition, " ? ", text, " : ",
                  e.dtype == DType::boolean ? "false" : concat("(", type_of(e.dtype), ")0"));
  return name_it(type_of(e.dtype), text);
}

void ExprText::store(int operand, const std::vector<Expr>& index, const std::string& value) {
  const Access a = access(operand, index);
  f_.line(a.condition.empty() ? "" : concat("if (", a.condition, ") "), f_.pointer(operand), "[", a.offset.text,
          "] = ", value, ";");
}

}  // namespace gcg::cuda
