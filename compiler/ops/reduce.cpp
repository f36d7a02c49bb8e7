// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp,
// ReduceSumSquare.
#include <cmath>
#include <limits>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/runtime_axes.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

enum class ReduceKind : uint8_t { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };

/// The dimensions that are reduced. If axes are absent or empty, these are all, or none with noop_with_empty_axes.
std::vector<bool> reduced_axes(const Node& node, int64_t rank, const std::vector<int64_t>& axes) {
  const bool all = axes.empty() && node.int_attribute("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<size_t>(rank), all);
  for (int64_t a : axes) reduced[static_cast<size_t>(wrap_axis(a, rank))] = true;
  return reduced;
}

bool keeps_dims(const Node& node) { return node.int_attribute("keepdims", 1) != 0; }

void upgrade_reduce(UpgradeContext& ctx) { ctx.attribute_to_input("axes", 1); }

/// The sum or product of all elements, or the extreme one; nullopt if it exceeds 64 bits.
template <ReduceKind kind>
std::optional<Dim> reduced_contents(const std::vector<Dim>& contents) {
  Dim result = kind == ReduceKind::prod ? 1 : 0;
  try {
    for (size_t i = 0; i < contents.size(); ++i) {
      const Dim& d = contents[i];
      if (kind == ReduceKind::sum)
        result = result + d;
      else if (kind == ReduceKind::prod)
        result = result * d;
      else if (i == 0)
        result = d;
      else
        result = kind == ReduceKind::max ? max(result, d) : min(result, d);
    }
  } catch (const InternalError&) {
    throw;
  } catch (const CompileError&) {
    return std::nullopt;
  }
  return result;
}

template <ReduceKind kind>
void infer_contents(InferContext& ctx, const std::vector<bool>& reduced) {
  if (kind != ReduceKind::sum && kind != ReduceKind::prod && kind != ReduceKind::max && kind != ReduceKind::min) return;
  const auto contents = ctx.contents(0);
  if (!contents || !is_int(ctx.dtype(0))) return;
  if (reduced.empty() || !reduced[0]) return ctx.set_contents(0, *contents);
  if (contents->empty() && (kind == ReduceKind::max || kind == ReduceKind::min)) return;
  if (const auto result = reduced_contents<kind>(*contents)) ctx.set_contents(0, {*result});
}

/// If the axes are only known at run time, each dimension d of the input gets a symbol r_d: 1 if it is reduced, else 0.
/// The result keeps the extent r_d + (1 - r_d) * n_d, and the reduction runs over r_d * n_d + (1 - r_d). Without
/// keepdims, the remaining extents have their own symbols.
void infer_open_reduce(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_constant()) ctx.fail("the number of axes must be known at compile time");
  const int64_t left = ctx.rank(0) - ctx.shape(1)[0].constant();
  if (left < 0) ctx.fail(concat("there are ", ctx.shape(1)[0].constant(), " axes for ", ctx.rank(0), " dimensions"));
  Shape shape;
  Dim reduced = 0;
  for (const Dim& n : x) {
    const Dim r = ctx.fresh_symbol("reduced");
    reduced = reduced + r;
    shape.push_back(r + (Dim(1) - r) * n);
  }
  ctx.require_equal(reduced, ctx.shape(1)[0], "distinct axes in range");
  if (!keeps_dims(ctx.node())) {
    shape.clear();
    for (int64_t d = 0; d < left; ++d) shape.push_back(ctx.fresh_symbol("kept"));
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

Expr reduced_extent(LowerContext& ctx, int symbol) {
  const auto rank = static_cast<int64_t>(ctx.input_shape(0).size());
  if (symbol < rank) return cast(DType::i64, is_named(ctx, 1, symbol, rank));
  return unnamed_extent(ctx, 1, ctx.input_shape(0), symbol - rank);
}

template <ReduceKind kind>
void infer_reduce(InferContext& ctx) {
  if (ctx.dtype(0) == DType::boolean && kind != ReduceKind::max && kind != ReduceKind::min)
    ctx.fail("bool elements cannot be summed");
  std::vector<int64_t> axes;
  if (ctx.has_input(1)) {
    const auto known = ctx.int_contents(1);
    if (!known) return infer_open_reduce(ctx);
    for (int64_t a : *known) axes.push_back(ctx.axis(a, ctx.rank(0)));
  }
  const std::vector<bool> reduced = reduced_axes(ctx.node(), ctx.rank(0), axes);
  Shape shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d])
      shape.push_back(ctx.shape(0)[d]);
    else if (keeps_dims(ctx.node()))
      shape.push_back(1);
  }
  ctx.set_output(0, ctx.dtype(0), shape);
  infer_contents<kind>(ctx, reduced);
}

/// The computation type. Forms with a root or a logarithm compute integers in f64.
template <ReduceKind kind>
DType compute_dtype(DType dtype) {
  const bool transcendental = kind == ReduceKind::l2 || kind == ReduceKind::log_sum || kind == ReduceKind::log_sum_exp;
  return transcendental && !is_float(dtype) ? DType::f64 : arithmetic_dtype(dtype);
}

/// The input elements that are reduced to one output element, with fresh axes.
Sweep known_sweep(LowerContext& ctx, const std::vector<int64_t>& axes, const std::vector<Expr>& output_index) {
  const auto rank = static_cast<int64_t>(ctx.input_shape(0).size());
  const std::vector<bool> reduced = reduced_axes(ctx.node(), rank, axes);
  std::vector<Expr> at;
  for (size_t d = 0, o = 0; d < reduced.size(); ++d) {
    const bool present = !reduced[d] || keeps_dims(ctx.node());
    at.push_back(present ? output_index[o] : index(0));
    o += present;
  }
  return sweep(ctx, ctx.input_shape(0), reduced, at);
}

/// The same with axes that only a run knows (see infer_open_reduce). In each dimension, either the output position or
/// the reduction axis is 0.
Sweep open_sweep(LowerContext& ctx, const std::vector<Expr>& output_index) {
  const Shape& x = ctx.input_shape(0);
  const std::vector<std::string> symbols = ctx.node().strings_attribute(kSymbolsAttribute);
  Sweep result;
  Dim before = 0;  // number of reduced dimensions so far
  for (size_t d = 0; d < x.size(); ++d) {
    const Dim r = Dim::symbol(symbols.at(d));
    result.axes.push_back(ctx.fresh_axis(r * x[d] + Dim(1) - r));
    Expr at = keeps_dims(ctx.node()) ? output_index[d] : index(0);
    if (!keeps_dims(ctx.node())) {
      const Expr number = extent(Dim(static_cast<int64_t>(d)) - before);
      for (size_t o = 0; o < output_index.size(); ++o)
        at = select(binary(BinaryOp::equal, number, index(static_cast<int64_t>(o))), output_index[o], at);
      at = select(binary(BinaryOp::equal, extent(r), index(1)), index(0), at);
    }
    result.index.push_back(at + axis_ref(result.axes.back()));
    before = before + r;
  }
  return result;
}

Sweep reduced_elements(LowerContext& ctx, const std::vector<Expr>& output_index) {
  const auto axes = ctx.has_input(1) ? known_ints(ctx.input_value(1)) : std::vector<int64_t>{};
  return axes ? known_sweep(ctx, *axes, output_index) : open_sweep(ctx, output_index);
}

/// log(sum(exp(x - m))) + m. m is the maximum, or 0 if the maximum is infinite.
Expr log_sum_exp(LowerContext& ctx, DType dtype, const std::vector<Expr>& output_index) {
  const Sweep first = reduced_elements(ctx, output_index), second = reduced_elements(ctx, output_index);
  const Expr largest = reduce_over(ReduceOp::max, first.axes, cast(dtype, ctx.input(0, first.index)));
  const Expr shift = select(unary(UnaryOp::is_inf, largest), number(dtype, 0), largest);
  const Expr body = unary(UnaryOp::exp, cast(dtype, ctx.input(0, second.index)) - shift);
  return unary(UnaryOp::log, reduce_over(ReduceOp::sum, second.axes, body)) + shift;
}

/// The number of points, but at least 1. The mean of no points, which ONNX does not define, is then 0, as in
/// onnxruntime.
Expr divisor_of_mean(DType dtype, const std::vector<Axis>& axes) {
  Axis all{-1, 1};
  for (const Axis& a : axes) all.extent = all.extent * a.extent;
  all.extent = max(all.extent, Dim(1));
  return points(dtype, {all});
}

template <ReduceKind kind>
Expr lower_reduce(LowerContext& ctx, int, const std::vector<Expr>& output_index) {
  const DType dtype = compute_dtype<kind>(ctx.input_value(0).dtype);
  if constexpr (kind == ReduceKind::log_sum_exp) return as_output(ctx, 0, log_sum_exp(ctx, dtype, output_index));
  const Sweep points_of = reduced_elements(ctx, output_index);
  Expr x = cast(dtype, ctx.input(0, points_of.index));
  ReduceOp op = ReduceOp::sum;
  if (kind == ReduceKind::max) op = dtype == DType::boolean ? ReduceOp::logical_or : ReduceOp::max;
  if (kind == ReduceKind::min) op = dtype == DType::boolean ? ReduceOp::logical_and : ReduceOp::min;
  if (kind == ReduceKind::prod) op = ReduceOp::prod;
  if (kind == ReduceKind::l1 && !is_unsigned_int(dtype)) x = unary(UnaryOp::abs, x);
  if (kind == ReduceKind::l2 || kind == ReduceKind::sum_square) x = x * x;
  Expr result = reduce_over(op, points_of.axes, x);
  if (kind == ReduceKind::mean) result = binary(BinaryOp::div, result, divisor_of_mean(dtype, points_of.axes));
  if (kind == ReduceKind::l2) result = unary(UnaryOp::sqrt, result);
  if (kind == ReduceKind::log_sum) result = unary(UnaryOp::log, result);
  return as_output(ctx, 0, result);
}

template <class T, class At>
T extreme(bool largest, bool is_boolean, DType dtype, int64_t count, At at) {
  constexpr bool real = std::is_same_v<T, double>;
  T result{};
  if (count == 0) {
    if (real)
      return static_cast<T>(largest ? -std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::infinity());
    const int64_t bits = size_of(dtype) * 8;
    if (is_boolean) return static_cast<T>(largest ? 0 : 1);
    if (std::is_same_v<T, uint64_t>) return largest ? T{0} : static_cast<T>(~uint64_t{0} >> (64 - bits));
    const int64_t top = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
    return static_cast<T>(largest ? -top - 1 : top);
  }
  for (int64_t i = 0; i < count; ++i) {
    const T x = at(i);
    if constexpr (real) {
      if (std::isnan(x)) return x;
    }
    if (i == 0 || (largest ? x > result : x < result)) result = x;
  }
  return result;
}

template <ReduceKind kind, class T, class At>
T fold(int64_t count, At at) {
  T sum = kind == ReduceKind::prod ? T{1} : T{0};
  for (int64_t i = 0; i < count; ++i) {
    T x = at(i);
    if constexpr (!std::is_same_v<T, uint64_t>) {
      if (kind == ReduceKind::l1) x = x < 0 ? -x : x;
    }
    if (kind == ReduceKind::l2 || kind == ReduceKind::sum_square) x = wrapping_mul(x, x);
    sum = kind == ReduceKind::prod ? wrapping_mul(sum, x) : wrapping_add(sum, x);
  }
  if constexpr (std::is_same_v<T, double>) {
    if (kind == ReduceKind::mean) return count == 0 ? 0 : sum / static_cast<double>(count);
    if (kind == ReduceKind::l2) return std::sqrt(sum);
    if (kind == ReduceKind::log_sum) return std::log(sum);
  } else if (kind == ReduceKind::mean) {
    return count == 0 ? T{0} : sum / static_cast<T>(count);
  }
  return sum;
}

template <class At>
double fold_log_sum_exp(int64_t count, At at) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, static_cast<double>(at(i)));
  const double shift = std::isinf(largest) ? 0 : largest;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(at(i)) - shift);
  return std::log(sum) + shift;
}

template <ReduceKind kind>
std::vector<Tensor> reference_reduce(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const std::vector<int64_t> axes =
      ctx.input_count() > 1 && ctx.input(1) ? ctx.input(1)->to_ints() : std::vector<int64_t>{};
  const std::vector<bool> reduced = reduced_axes(ctx.node(), x.rank(), axes);
  std::vector<int64_t> shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d])
      shape.push_back(x.shape()[d]);
    else if (keeps_dims(ctx.node()))
      shape.push_back(1);
  }
  Tensor y(x.dtype(), shape);
  const SplitOffsets offsets = split_offsets(x.shape(), reduced);
  const auto count = static_cast<int64_t>(offsets.swept.size());
  with_number_type(compute_dtype<kind>(x.dtype()), [&]<class T>() {
    for (size_t o = 0; o < offsets.outer.size(); ++o) {
      const auto at = [&](int64_t i) { return get<T>(x, offsets.outer[o] + offsets.swept[static_cast<size_t>(i)]); };
      T result;
      if constexpr (kind == ReduceKind::max || kind == ReduceKind::min) {
        result = extreme<T>(kind == ReduceKind::max, x.dtype() == DType::boolean, x.dtype(), count, at);
      } else if constexpr (kind == ReduceKind::log_sum_exp) {
        result = static_cast<T>(fold_log_sum_exp(count, at));
      } else {
        result = fold<kind, T>(count, at);
      }
      put<T>(y, static_cast<int64_t>(o), result);
    }
  });
  return {y};
}

template <ReduceKind kind>
constexpr OpDef reduce_op(const char* name, Narrow narrow = Narrow::no, Types types = Types::numbers) {
  return {.name = name,
          .since = 1,
          .min_inputs = 1,
          .max_inputs = 2,
          .types = {types, Types::integers},
          .kind = OpKind::reduction,
          .traits = {.narrow = narrow},
          .upgrade = upgrade_reduce,
          .infer = infer_reduce<kind>,
          .lower = lower_reduce<kind>,
          .data_extent = reduced_extent,
          .reference = reference_reduce<kind>};
}

}  // namespace

const OpDef op_ReduceSum = reduce_op<ReduceKind::sum>("ReduceSum", Narrow::reads);
const OpDef op_ReduceMean = reduce_op<ReduceKind::mean>("ReduceMean", Narrow::reads);
const OpDef op_ReduceMax = reduce_op<ReduceKind::max>("ReduceMax", Narrow::reads, Types::numbers_and_bool);
const OpDef op_ReduceMin = reduce_op<ReduceKind::min>("ReduceMin", Narrow::reads, Types::numbers_and_bool);
const OpDef op_ReduceProd = reduce_op<ReduceKind::prod>("ReduceProd");
const OpDef op_ReduceL1 = reduce_op<ReduceKind::l1>("ReduceL1", Narrow::reads);
const OpDef op_ReduceL2 = reduce_op<ReduceKind::l2>("ReduceL2", Narrow::reads);
const OpDef op_ReduceLogSum = reduce_op<ReduceKind::log_sum>("ReduceLogSum");
const OpDef op_ReduceLogSumExp = reduce_op<ReduceKind::log_sum_exp>("ReduceLogSumExp", Narrow::reads);
const OpDef op_ReduceSumSquare = reduce_op<ReduceKind::sum_square>("ReduceSumSquare", Narrow::reads);

}  // namespace gcg
