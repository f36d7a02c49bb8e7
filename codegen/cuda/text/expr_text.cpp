#include "codegen/cuda/text/expr_text.h"

#include "codegen/cuda/text/operator_text.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {
namespace {

/// True for a small constant window, which is worth unrolling.
bool is_window(const ExprNode& reduce) {
  constexpr int64_t kLargest = 16;
  int64_t size = 1;
  for (const Axis& axis : reduce.reduce_axes) {
    if (!axis.extent.is_constant() || axis.extent.constant() > kLargest) return false;
    size *= axis.extent.constant();
  }
  return size <= kLargest;
}

bool is_arithmetic(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul || op == BinaryOp::div ||
         op == BinaryOp::floor_div || op == BinaryOp::mod || op == BinaryOp::max || op == BinaryOp::min;
}

/// a op b, both of one type; `natural`: a >= 0 and b > 0.
std::string plain_index_text(BinaryOp op, const std::string& a, const std::string& b, bool natural, bool wide) {
  switch (op) {
    case BinaryOp::add:
      return concat(a, " + ", b);
    case BinaryOp::sub:
      return concat(a, " - ", b);
    case BinaryOp::mul:
      return concat(a, " * ", b);
    default:
      break;
  }
  const bool quotient = op == BinaryOp::div || op == BinaryOp::floor_div;
  if ((quotient || op == BinaryOp::mod) && natural) {
    if (wide) return concat(quotient ? "gart_index_div(" : "gart_index_mod(", a, ", ", b, ")");
    return concat("(int)((unsigned int)", a, quotient ? " / " : " % ", "(unsigned int)", b, ")");
  }
  return binary_text(op, DType::i64, a, b, nullptr);
}

}  // namespace

class ExprText::ScopeGuard {
 public:
  explicit ScopeGuard(ExprText& exprs) : exprs_(exprs) {
    scope_.outer = exprs.scope_;
    exprs.scope_ = &scope_;
  }
  ~ScopeGuard() { exprs_.scope_ = scope_.outer; }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  ExprText& exprs_;
  Scope scope_;
};

std::string ExprText::name_it(const std::string& type, const std::string& text) {
  std::string name = f_.fresh("t");
  f_.line("const ", type, " ", name, " = ", text, ";");
  return name;
}

std::string ExprText::value(const Expr& e) {
  if (const auto it = place_.known.find(e.get()); it != place_.known.end()) return it->second;
  if (std::string text = leaf(e); !text.empty()) return text;
  for (Scope* s = scope_; s != nullptr; s = s->outer)
    if (auto it = s->values.find(e.get()); it != s->values.end()) return it->second;
  const std::string name = compute(e);
  scope_->values[e.get()] = name;
  if (const auto it = place_.assigned.find(e.get()); it != place_.assigned.end()) f_.line(it->second, " = ", name, ";");
  return name;
}

std::string ExprText::full_value(const Expr& e) {
  const std::string text = value(e);
  return is_narrow(e) ? concat("(long long)", text) : text;
}

/// The text of an expression that needs no statement; empty for other expressions.
std::string ExprText::leaf(const Expr& e) {
  switch (e->kind) {
    case ExprKind::constant:
      return is_narrow(e) ? integer_literal(e->integer) : constant_text(*e);
    case ExprKind::axis: {
      const auto it = axes_.find(e->axis);
      GCG_CHECK(it != axes_.end(), "axis ", e->axis, " has no value here");
      return it->second;
    }
    case ExprKind::extent:
      return f_.dim(e->dim).text;
    case ExprKind::local:
      return place_.locals.at(e->local);
    case ExprKind::accumulator:
      GCG_CHECK(!place_.accumulator.empty(), "an accumulator outside an epilogue");
      return place_.accumulator;
    default:
      return "";
  }
}

std::string ExprText::compute(const Expr& e) {
  const std::vector<Expr>& args = e->args;
  switch (e->kind) {
    case ExprKind::load:
      return load(*e);
    case ExprKind::unary:
      if (e->unary == UnaryOp::neg && is_narrow(e) && is_narrow(args[0]))
        return name_it("int", concat("-", value(args[0])));
      return name_it(register_type(e), unary_text(e->unary, args[0]->dtype, full_value(args[0]), place_.approximates));
    case ExprKind::binary: {
      if (args[0]->dtype == DType::i64) return name_it(register_type(e), index_arithmetic(e));
      const ExprNode* exponent = args[1]->kind == ExprKind::constant ? args[1].get() : nullptr;
      const std::string a = value(args[0]);
      return name_it(type_of(e->dtype), binary_text(e->binary, args[0]->dtype, a, value(args[1]), exponent));
    }
    case ExprKind::select:
      return select(e);
    case ExprKind::cast:
      return name_it(register_type(e), cast_text(args[0]->dtype, e->dtype, value(args[0])));
    case ExprKind::reduce:
      return reduce(e);
    default:
      break;
  }
  GCG_CHECK(false, "expression kind ", static_cast<int>(e->kind));
  return "";
}

std::string ExprText::index_arithmetic(const Expr& e) {
  const IndexText a = index_value(e->args[0]), b = index_value(e->args[1]);
  if (const std::string sign = comparison_sign(e->binary); !sign.empty()) return a.text + sign + b.text;
  if (e->binary == BinaryOp::checked_index) return checked_index(e);
  // Arithmetic on data may overflow and then wraps; arithmetic on axes and extents does not.
  const Interval range = f_.ranges().of(e);
  const bool plain = is_arithmetic(e->binary) && (range.is_known() || !is_data(e));
  if (!plain) return binary_text(e->binary, DType::i64, a.as_wide(), b.as_wide(), nullptr);
  const Interval divisor = f_.ranges().of(e->args[1]);
  const bool natural = f_.ranges().of(e->args[0]).is_natural() && divisor.low && *divisor.low > 0;
  if (!a.wide && !b.wide && range.fits_int()) return plain_index_text(e->binary, a.text, b.text, natural, false);
  const std::string text = plain_index_text(e->binary, a.as_wide(), b.as_wide(), natural, true);
  return range.fits_int() ? concat("(int)(", text, ")") : text;
}

std::string ExprText::select(const Expr& e) {
  const std::string condition = value(e->args[0]);
  if (has_guarded_load(e->args[1]) || has_guarded_load(e->args[2])) return branch(e, condition);
  const std::string then = value(e->args[1]), otherwise = value(e->args[2]);
  return name_it(register_type(e), concat(condition, " ? ", then, " : ", otherwise));
}

std::string ExprText::branch(const Expr& e, const std::string& condition) {
  const std::string name = f_.fresh("t");
  f_.line(register_type(e), " ", name, ";");
  auto side = [&](const Expr& taken) {
    ScopeGuard scope(*this);
    const std::string v = value(taken);
    f_.line(name, " = ", v, ";");
  };
  f_.open("if (", condition, ")");
  side(e->args[1]);
  f_.close_else();
  side(e->args[2]);
  f_.close();
  return name;
}

void ExprText::accumulate(ReduceOp op, const Expr& e, const std::string& sum) {
  const bool product = e->kind == ExprKind::binary && e->binary == BinaryOp::mul && e->dtype == DType::f32;
  if (op == ReduceOp::sum && product && !place_.known.contains(e.get()) && !place_.assigned.contains(e.get())) {
    const std::string a = value(e->args[0]), b = value(e->args[1]);
    f_.line(sum, " = fmaf(", a, ", ", b, ", ", sum, ");");
    return;
  }
  const std::string v = full_value(e);
  f_.line(sum, " = ", combine_text(op, e->dtype, sum, v), ";");
}

std::string ExprText::reduce(const Expr& e) {
  const std::string sum = f_.fresh("t");
  f_.line(type_of(e->dtype), " ", sum, " = ", constant_text(*reduce_identity(e->reduce, e->dtype)), ";");
  const bool window = is_window(*e);
  for (const Axis& axis : e->reduce_axes) {
    const std::string name = f_.fresh("r");
    axes_[axis.id] = name;
    if (window) f_.line("#pragma unroll");
    f_.open("for (", index_type(f_.ranges().of_axis(axis.id)), " ", name, " = 0; ", name, " < ",
            f_.dim(axis.extent).text, "; ++", name, ")");
  }
  {
    ScopeGuard scope(*this);
    accumulate(e->reduce, e->args[0], sum);
  }
  for (size_t k = 0; k < e->reduce_axes.size(); ++k) f_.close();
  return sum;
}

}  // namespace gcg::cuda
