// MaxPool, AveragePool and LpPool over any number of spatial dimensions. gart.BlockedMaxPool and
// gart.BlockedAveragePool do the same on channel-blocked activations [N, ceil(C/16), H, W, 16]: each lane is a channel,
// after the spatial dimensions. Lanes past C are undefined.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

bool is_blocked(const Node& node) { return std::string_view(node.op->domain) == "gart"; }

Window window_of_pool(const Node& node, const Shape& x) {
  const Shape kernel = to_shape(node.ints_attribute("kernel_shape"));
  return pool_window_of(node, Shape(x.begin(), x.end() - (is_blocked(node) ? 1 : 0)), kernel);
}

void check_pool_input(InferContext& ctx) {
  const bool blocked = is_blocked(ctx.node());
  if (ctx.rank(0) < 3 || (blocked && ctx.rank(0) < 5))
    ctx.fail(concat("an input of rank ", ctx.rank(0), " cannot be pooled"));
  for (int64_t k : ctx.node().ints_attribute("kernel_shape")) {
    if (k < 1) ctx.fail(concat("kernel_shape contains ", k, ", the least is 1"));
  }
}

void infer_pool(InferContext& ctx) {
  check_pool_input(ctx);
  const Shape& x = ctx.shape(0);
  const Window window = window_of_pool(ctx.node(), x);
  require_fit(ctx, window);
  Shape y = windowed_shape(x[0], x[1], window);
  if (is_blocked(ctx.node())) y.push_back(x.back());
  ctx.set_output(0, ctx.dtype(0), y);
  ctx.set_output(1, DType::i64, y);  // MaxPool's Indices
}

std::vector<Expr> tap_index(const std::vector<Expr>& at, const Taps& taps) {
  std::vector<Expr> result = {at[0], at[1]};
  result.insert(result.end(), taps.position.begin(), taps.position.end());
  if (at.size() > result.size()) result.push_back(at.back());
  return result;
}

// ---- MaxPool

/// The taps of the window at `at` that count: those inside the input, or with count_include_pad also those in the
/// padding.
Expr counted_taps(const Window& window, std::span<const Expr> at, bool include_padding) {
  Expr count = index(1);
  const bool may_miss = !always_holds_an_element(window);
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    const Expr start = at[d] * index(w.stride) - extent(w.pad_begin), step = index(w.dilation),
               kernel = extent(w.kernel);
    const bool pads_begin = !include_padding && !w.pad_begin.is(0);
    const bool pads_end = w.overhangs || (!include_padding && !w.pad_end.is(0));
    Expr first = index(0), after = kernel;  // the taps [first, after) count
    const auto taps_before = [&](const Expr& position) {
      return binary(BinaryOp::floor_div, position - start + index(w.dilation - 1), step);
    };
    if (pads_begin) first = binary(BinaryOp::max, index(0), taps_before(index(0)));
    if (pads_end)
      after = binary(BinaryOp::min, kernel, taps_before(extent(include_padding ? w.input + w.pad_end : w.input)));
    const Expr taps = after - first;
    count = count * (may_miss ? binary(BinaryOp::max, taps, index(0)) : taps);
  }
  return count;
}

/// The value of a window without elements: the lowest number, as in onnxruntime.
Expr lowest(DType dtype) {
  if (dtype == DType::f32) return constant_float(dtype, std::numeric_limits<float>::lowest());
  return dtype == DType::f64 ? constant_float(dtype, std::numeric_limits<double>::lowest())
                             : reduce_identity(ReduceOp::max, dtype);
}

Expr window_max(LowerContext& ctx, const Window& window, const std::vector<Expr>& at) {
  const std::span<const Expr> position = std::span(at).subspan(2, window.size());
  const Taps taps = taps_of(ctx, window, position);
  Expr x = arithmetic_input(ctx, 0, tap_index(at, taps));
  // If every window holds an element, a clamped tap still reads an element of its window. Reading an element twice does
  // not change the maximum.
  if (!taps.inside || always_holds_an_element(window)) return reduce(ReduceOp::max, taps.axes, x);
  x = select(taps.inside, x, reduce_identity(ReduceOp::max, x->dtype));
  const Expr count = counted_taps(window, position, false);
  return select(binary(BinaryOp::greater, count, index(0)), reduce(ReduceOp::max, taps.axes, x), lowest(x->dtype));
}

/// The row-major position in the whole input. With storage_order=1, it is the position with the first spatial dimension
/// varying fastest.
Expr indices_value(const Shape& x, const std::vector<Expr>& plane, const Expr& spatial, bool first_fastest) {
  Dim area = 1;
  for (size_t d = 2; d < x.size(); ++d) area = area * x[d];
  Expr within = spatial;
  if (first_fastest) {
    Expr rest = spatial;
    within = index(0);
    for (size_t d = x.size(); d-- > 2;) {
      within = within * extent(x[d]) + binary(BinaryOp::mod, rest, extent(x[d]));
      rest = binary(BinaryOp::floor_div, rest, extent(x[d]));
    }
  }
  return (plane[0] * extent(x[1]) + plane[1]) * extent(area) + within;
}

/// The first tap, in row-major order, that holds the maximum. -1 if the whole window lies in the padding, as in ONNX's
/// reference.
Expr lower_max_indices(LowerContext& ctx, const Window& window, const std::vector<Expr>& at) {
  const Expr largest = window_max(ctx, window, at);
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2, window.size()));
  const Expr x = arithmetic_input(ctx, 0, tap_index(at, taps));
  Expr spatial = index(0);
  for (size_t d = 0; d < window.size(); ++d) spatial = spatial * extent(window[d].input) + taps.position[d];
  Expr hit = binary(BinaryOp::equal, x, largest);
  if (is_float(x->dtype)) hit = binary(BinaryOp::logical_or, hit, unary(UnaryOp::is_nan, x));
  const Expr none = index(std::numeric_limits<int64_t>::max());
  const Expr place = reduce(ReduceOp::min, taps.axes, select(both(taps.inside, hit), spatial, none));
  const bool first_fastest = ctx.node().int_attribute("storage_order", 0) != 0;
  const Expr indices = indices_value(ctx.input_shape(0), at, place, first_fastest);
  if (!taps.inside || always_holds_an_element(window)) return indices;
  return select(binary(BinaryOp::equal, place, none), index(-1), indices);
}

Expr lower_max_pool(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const Window window = window_of_pool(ctx.node(), ctx.input_shape(0));
  return output == 1 ? lower_max_indices(ctx, window, at) : as_output(ctx, 0, window_max(ctx, window, at));
}

// ---- AveragePool and LpPool

Expr lower_average_pool(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Window window = window_of_pool(ctx.node(), ctx.input_shape(0));
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2, window.size()));
  Expr x = arithmetic_input(ctx, 0, tap_index(at, taps));
  if (taps.inside) x = select(taps.inside, x, number(x->dtype, 0));
  const bool include_padding = ctx.node().int_attribute("count_include_pad", 0) != 0;
  Expr count = counted_taps(window, std::span(at).subspan(2, window.size()), include_padding);
  if (!always_holds_an_element(window)) count = binary(BinaryOp::max, count, index(1));  // a window without elements: 0
  return as_output(ctx, 0, binary(BinaryOp::div, reduce(ReduceOp::sum, taps.axes, x), cast(x->dtype, count)));
}

/// sum(|x|^p)^(1/p)
Expr lower_lp_pool(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Window window = window_of_pool(ctx.node(), ctx.input_shape(0));
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2, window.size()));
  const Expr x = unary(UnaryOp::abs, arithmetic_input(ctx, 0, tap_index(at, taps)));
  const auto p = static_cast<double>(ctx.node().int_attribute("p", 2));
  Expr term = p == 1 ? x : p == 2 ? x * x : binary(BinaryOp::pow, x, number(x->dtype, p));
  if (taps.inside) term = select(taps.inside, term, number(x->dtype, 0));
  const Expr sum = reduce(ReduceOp::sum, taps.axes, term);
  const Expr root = p == 1   ? sum
                    : p == 2 ? unary(UnaryOp::sqrt, sum)
                             : binary(BinaryOp::pow, sum, number(x->dtype, 1 / p));
  return as_output(ctx, 0, root);
}

// ---- references

/// The input as planes of `area` points. Each point has `lanes` elements, which are pooled separately.
struct Planes {
  const Tensor& x;
  PlainWindow window;
  int64_t count, area, lanes;

  explicit Planes(ReferenceContext& ctx) : x(*ctx.input(0)) {
    const auto spatial_end = x.shape().end() - (is_blocked(ctx.node()) ? 1 : 0);
    window = plain_window(pool_window_of(ctx.node(), to_shape({x.shape().begin(), spatial_end}),
                                         to_shape(ctx.node().ints_attribute("kernel_shape"))));
    count = x.shape()[0] * x.shape()[1];
    area = element_count(window.input);
    lanes = is_blocked(ctx.node()) ? x.shape().back() : 1;
  }
  std::vector<int64_t> output_shape() const {
    std::vector<int64_t> shape = {x.shape()[0], x.shape()[1]};
    shape.insert(shape.end(), window.output.begin(), window.output.end());
    if (x.shape().size() > shape.size()) shape.push_back(lanes);
    return shape;
  }
};

/// Calls `see(output element, output index, index in x of spatial offset 0)` for every output element in order.
template <class See>
void for_each_output(const Planes& planes, See see) {
  int64_t o = 0;
  for (int64_t plane = 0; plane < planes.count; ++plane) {
    for_each_index(planes.window.output, [&](const std::vector<int64_t>& at) {
      for (int64_t lane = 0; lane < planes.lanes; ++lane) see(o++, at, plane * planes.area * planes.lanes + lane);
    });
  }
}

/// Calls `see(row-major spatial offset, position)` for every tap inside the input.
template <class See>
void for_each_tap(const PlainWindow& window, const std::vector<int64_t>& at, See see) {
  const std::vector<int64_t> strides = row_major_strides(window.input);
  std::vector<int64_t> position;
  for_each_index(window.kernel, [&](const std::vector<int64_t>& k) {
    if (!window.read(at, k, position)) return;
    int64_t offset = 0;
    for (size_t d = 0; d < position.size(); ++d) offset += position[d] * strides[d];
    see(offset, position);
  });
}

/// The result for a window that holds no element.
template <class T>
T least_of(DType dtype) {
  if (dtype == DType::f32) return static_cast<T>(std::numeric_limits<float>::lowest());
  if (dtype == DType::f64) return static_cast<T>(std::numeric_limits<double>::lowest());
  if (is_float(dtype)) return static_cast<T>(-std::numeric_limits<double>::infinity());
  const auto unused_bits = static_cast<int>(64 - 8 * size_of(dtype));
  return is_signed_int(dtype) ? static_cast<T>(std::numeric_limits<int64_t>::min() >> unused_bits) : T{0};
}

/// The position of a window's maximum: the first NaN, else the first of the largest elements.
template <class T>
std::vector<Tensor> max_pool(const Planes& planes, bool first_fastest) {
  Tensor y(planes.x.dtype(), planes.output_shape()), places(DType::i64, planes.output_shape());
  for_each_output(planes, [&](int64_t o, const std::vector<int64_t>& at, int64_t base) {
    T largest = least_of<T>(planes.x.dtype());
    int64_t place = -1;
    for_each_tap(planes.window, at, [&](int64_t offset, const std::vector<int64_t>& position) {
      const T value = get<T>(planes.x, base + offset * planes.lanes);
      if (place >= 0 && (largest != largest || value <= largest)) return;
      largest = value;
      place = offset;
      if (!first_fastest) return;
      place = 0;
      for (size_t d = position.size(); d-- > 0;) place = place * planes.window.input[d] + position[d];
    });
    put<T>(y, o, largest);
    places.set_int(o, place < 0 ? place : base + place);
  });
  return {y, places};
}

std::vector<Tensor> reference_max_pool(ReferenceContext& ctx) {
  const bool first_fastest = ctx.node().int_attribute("storage_order", 0) != 0;
  std::vector<Tensor> outputs =
      with_number_type(ctx.input(0)->dtype(), [&]<class T>() { return max_pool<T>(Planes(ctx), first_fastest); });
  outputs.resize(static_cast<size_t>(ctx.output_count()));
  return outputs;
}

/// The number of taps in the padded input. Only a window that ceil_mode added reaches beyond it.
int64_t taps_in_padded(const PlainWindow& window, const std::vector<int64_t>& at) {
  int64_t count = 0;
  for_each_index(window.kernel, [&](const std::vector<int64_t>& k) {
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t position = at[d] * window.stride[d] - window.pad_begin[d] + k[d] * window.dilation[d];
      inside = inside && position < window.input[d] + window.pad_end[d];
    }
    count += inside;
  });
  return count;
}

std::vector<Tensor> reference_average_pool(ReferenceContext& ctx) {
  const Planes planes(ctx);
  const bool include_padding = ctx.node().int_attribute("count_include_pad", 0) != 0;
  Tensor y(planes.x.dtype(), planes.output_shape());
  for_each_output(planes, [&](int64_t o, const std::vector<int64_t>& at, int64_t base) {
    double sum = 0;
    int64_t count = 0;
    for_each_tap(planes.window, at, [&](int64_t offset, const std::vector<int64_t>&) {
      sum += planes.x.at_double(base + offset * planes.lanes);
      ++count;
    });
    const int64_t divisor = include_padding ? taps_in_padded(planes.window, at) : count;
    y.set_double(o, sum / static_cast<double>(std::max<int64_t>(divisor, 1)));
  });
  return {y};
}

std::vector<Tensor> reference_lp_pool(ReferenceContext& ctx) {
  const Planes planes(ctx);
  const auto p = static_cast<double>(ctx.node().int_attribute("p", 2));
  Tensor y(planes.x.dtype(), planes.output_shape());
  for_each_output(planes, [&](int64_t o, const std::vector<int64_t>& at, int64_t base) {
    double sum = 0;
    for_each_tap(planes.window, at, [&](int64_t offset, const std::vector<int64_t>&) {
      sum += std::pow(std::abs(planes.x.at_double(base + offset)), p);
    });
    y.set_double(o, std::pow(sum, 1 / p));
  });
  return {y};
}

using Lower = Expr (*)(LowerContext&, int, const std::vector<Expr>&);
using Reference = std::vector<Tensor> (*)(ReferenceContext&);

constexpr OpDef pool_op(const char* name, const char* domain, int max_outputs, Types types, Lower lower,
                        Reference reference, Narrow narrow = Narrow::links) {
  return {.name = name,
          .domain = domain,
          .since = 1,
          .min_inputs = 1,
          .max_inputs = 1,
          .max_outputs = max_outputs,
          .types = {types},
          .results = {Types::as_first, Types::i64},
          .kind = OpKind::reduction,
          .traits = {.reads = Reads::window, .narrow = narrow, .keeps_channels = true},
          .infer = infer_pool,
          .lower = lower,
          .reference = reference};
}

}  // namespace

const OpDef op_MaxPool = pool_op("MaxPool", "", 2, Types::numbers, lower_max_pool, reference_max_pool);
const OpDef op_AveragePool = pool_op("AveragePool", "", 1, Types::floats, lower_average_pool, reference_average_pool);
const OpDef op_LpPool = pool_op("LpPool", "", 1, Types::floats, lower_lp_pool, reference_lp_pool, Narrow::no);
const OpDef op_gart_BlockedMaxPool =
    pool_op("BlockedMaxPool", "gart", 1, Types::numbers, lower_max_pool, reference_max_pool);
const OpDef op_gart_BlockedAveragePool =
    pool_op("BlockedAveragePool", "gart", 1, Types::floats, lower_average_pool, reference_average_pool);

}  // namespace gcg
