// TopK, and the operators that expand_top_k uses for GPUs. The rank of an element is the number of elements of its line
// that come before it: larger ones (or smaller ones, with largest=0), and equal ones at lower positions. NaN counts as
// the largest number. Ranks are a permutation, so result r is the element of rank r. This needs no sorting, and every
// element is independent.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/ops/index.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/top_k_program.h"

namespace gcg {
namespace {

int64_t axis_of(const Node& node, int64_t rank) { return wrap_axis(node.int_attribute("axis", -1), rank); }
bool takes_largest(const Node& node) { return node.int_attribute("largest", 1) != 0; }

void upgrade_top_k(UpgradeContext& ctx) {
  if (ctx.version >= 10) return;
  ctx.set_input(1, Tensor::vector_i64({ctx.node.int_attribute("k", 1)}));
  ctx.node.attributes.erase("k");
}

/// The shape of the input with k elements along the axis; k is input 1.
Shape infer_chosen(InferContext& ctx) {
  if (ctx.rank(0) < 1) ctx.fail("a scalar has no axis to choose along");
  const int64_t axis = ctx.axis(ctx.node().int_attribute("axis", -1), ctx.rank(0));
  if (!product(ctx.shape(1)).is(1)) ctx.fail("k (input 1) must have one element");
  const auto contents = ctx.contents(1);
  Shape shape = ctx.shape(0);
  Dim& extent = shape[static_cast<size_t>(axis)];
  const Dim k = contents ? contents->front() : ctx.fresh_symbol("k");
  if (k.upper_bound().value_or(0) < 0) ctx.fail(concat("k is ", k.str(), ", it must not be negative"));
  if ((k - extent).lower_bound().value_or(0) > 0)
    ctx.fail(concat("k is ", k.str(), ", but there are only ", extent.str(), " elements along axis ", axis));
  extent = k;
  return shape;
}

Expr chosen_extent(LowerContext& ctx, int) { return integer_input(ctx, 1, Index(ctx.input_shape(1).size(), index(0))); }

void infer_top_k(InferContext& ctx) {
  const Shape shape = infer_chosen(ctx);
  ctx.set_output(0, ctx.dtype(0), shape);
  ctx.set_output(1, DType::i64, shape);
}

// ---- gart.Ranks: x -> i32 ranks along an axis

void infer_ranks(InferContext& ctx) {
  ctx.axis(ctx.node().int_attribute("axis", -1), ctx.rank(0));
  ctx.set_output(0, DType::i32, ctx.shape(0));
}

Expr lower_ranks(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), static_cast<int64_t>(at.size())));
  const Axis other = ctx.fresh_axis(ctx.input_shape(0)[axis]);
  Index there = at;
  there[axis] = axis_ref(other);
  const Expr mine = arithmetic_input(ctx, 0, at), theirs = arithmetic_input(ctx, 0, there);
  const auto either = [](const Expr& a, const Expr& b) { return binary(BinaryOp::logical_or, a, b); };
  const bool largest = takes_largest(ctx.node());
  Expr ahead = binary(largest ? BinaryOp::greater : BinaryOp::less, theirs, mine);
  Expr equal = binary(BinaryOp::equal, theirs, mine);
  if (is_float(mine->dtype)) {
    const Expr i_am = unary(UnaryOp::is_nan, mine), they_are = unary(UnaryOp::is_nan, theirs);
    const auto no = [](const Expr& e) { return unary(UnaryOp::logical_not, e); };
    ahead = either(ahead, largest ? both(they_are, no(i_am)) : both(i_am, no(they_are)));
    equal = either(equal, both(i_am, they_are));
  }
  const Expr before = binary(BinaryOp::less, cast(DType::i32, there[axis]), cast(DType::i32, at[axis]));
  const Expr counts = either(ahead, both(equal, before));
  return reduce(ReduceOp::sum, {other}, select(counts, constant_int(DType::i32, 1), constant_int(DType::i32, 0)));
}

/// Calls `see(line)` with the element numbers of every line along the axis.
template <class See>
void for_each_line(const std::vector<int64_t>& shape, int64_t axis, See see) {
  std::vector<bool> swept(shape.size(), false);
  swept[static_cast<size_t>(axis)] = true;
  const SplitOffsets offsets = split_offsets(shape, swept);
  for (int64_t base : offsets.outer) {
    std::vector<int64_t> line = offsets.swept;
    for (int64_t& e : line) e += base;
    see(line);
  }
}

/// Positions in the line; the best element comes first.
std::vector<int64_t> sorted_positions(const Tensor& x, const std::vector<int64_t>& line, bool largest) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  with_number_type(x.dtype(), [&]<class T>() {
    const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const T first = get<T>(x, line[static_cast<size_t>(a)]), second = get<T>(x, line[static_cast<size_t>(b)]);
      return largest ? less(second, first) : less(first, second);
    });
  });
  return order;
}

std::vector<Tensor> reference_ranks(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor ranks(DType::i32, x.shape());
  for_each_line(x.shape(), axis_of(ctx.node(), x.rank()), [&](const std::vector<int64_t>& line) {
    int64_t rank = 0;
    for (int64_t place : sorted_positions(x, line, takes_largest(ctx.node())))
      ranks.set_int(line[static_cast<size_t>(place)], rank++);
  });
  return {std::move(ranks)};
}

// ---- gart.PlacesOfRanks: ranks, k -> the positions along the axis of ranks 0 to k - 1, i64

void infer_places(InferContext& ctx) { ctx.set_output(0, DType::i64, infer_chosen(ctx)); }

Expr lower_places(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), static_cast<int64_t>(at.size())));
  const Axis place = ctx.fresh_axis(ctx.input_shape(0)[axis]);
  Index there = at;
  there[axis] = axis_ref(place);
  const Expr wanted = cast(DType::i32, at[axis]), here = cast(DType::i32, there[axis]);
  const Expr found = binary(BinaryOp::equal, ctx.input(0, there), wanted);
  return as_output(ctx, output, reduce(ReduceOp::sum, {place}, select(found, here, constant_int(DType::i32, 0))));
}

std::vector<int64_t> chosen_shape(const Tensor& x, int64_t axis, int64_t k) {
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = k;
  return shape;
}

std::vector<Tensor> reference_places(ReferenceContext& ctx) {
  const Tensor& ranks = *ctx.input(0);
  const int64_t axis = axis_of(ctx.node(), ranks.rank()), k = ctx.input(1)->at_int(0);
  Tensor places(DType::i64, chosen_shape(ranks, axis, k));
  for_each_index(ranks.shape(), [&, i = int64_t{0}](std::vector<int64_t> at) mutable {
    const int64_t place = std::exchange(at[static_cast<size_t>(axis)], ranks.at_int(i++));
    if (at[static_cast<size_t>(axis)] < k) places.set_int(position(at, places.shape()), place);
  });
  return {std::move(places)};
}

// ---- TopK

void program_top_k(ProgramBuilder& p) {
  const Shape& x = p.input_shape(0);
  const auto axis = static_cast<size_t>(axis_of(p.node(), static_cast<int64_t>(x.size())));
  const Dim n = x[axis], k = p.output_shape(0)[axis];
  const Dim inner = product(Shape(x.begin() + static_cast<int64_t>(axis) + 1, x.end()));
  const Expr outer = p.parallel(product(Shape(x.begin(), x.begin() + static_cast<int64_t>(axis))));
  const Expr lane = p.parallel(inner);
  const auto at = [&](const Dim& count, const Expr& i) { return (outer * extent(count) + i) * extent(inner) + lane; };
  p.require(binary(BinaryOp::less_equal, extent(k), extent(n)));
  const DType dtype = arithmetic_dtype(p.input_dtype(0));
  const LineElement element = [&](const Expr& i) { return cast(dtype, p.input(0, {at(n, i)})); };
  if (!p.wants(1)) {
    return select_best_values(p, n, k, element, takes_largest(p.node()),
                              [&](const Expr& rank, const Expr& value) { p.store(0, {at(k, rank)}, value); });
  }
  select_best(p, n, k, element, takes_largest(p.node()), [&](const Expr& rank, const Expr& place) {
    const Expr found = p.let(place);
    p.store(0, {at(k, rank)}, p.input(0, {at(n, found)}));
    p.store(1, {at(k, rank)}, found);
  });
}

/// One block works on each line. If there are few, long lines, one block works on each tile of a line first: the best
/// elements of a line are among the best of its tiles. Elements with equal keys stay in the order of their positions.
class TopKLaunches {
 public:
  explicit TopKLaunches(ProgramBuilder& p) : p_(p), shape_(p.input_shape(0)) {
    const auto axis = static_cast<size_t>(axis_of(p.node(), static_cast<int64_t>(shape_.size())));
    n_ = shape_[axis];
    k_ = p.output_shape(0)[axis];
    outer_ = product(Shape(shape_.begin(), shape_.begin() + static_cast<int64_t>(axis)));
    inner_ = product(Shape(shape_.begin() + static_cast<int64_t>(axis) + 1, shape_.end()));
  }

  void run() {
    const Dim lines = outer_ * inner_, tiles = has_tiles() ? ceil_div(n_, Dim(kTile)) : Dim(1);
    const Dim candidates = has_tiles() ? tiles * k_ : k_;
    const ProgramBuilder::Array places = p_.array(DType::i32, lines * candidates),
                                spare = p_.array(DType::i32, lines * candidates);
    if (!has_tiles()) return choose(places, spare, nullptr, n_);
    p_.shared_launch({outer_, inner_, tiles}, [&](const std::vector<Expr>& task) {
      p_.require(binary(BinaryOp::less_equal, extent(k_), extent(n_)));
      const Expr begin = p_.let(task[2] * index(kTile)),
                 end = p_.let(binary(BinaryOp::min, begin + index(kTile), extent(n_))),
                 count = p_.let(binary(BinaryOp::min, extent(k_), end - begin)),
                 at = p_.let(line(task) * extent(candidates) + task[2] * extent(k_));
      p_.order(places, spare, at, Range(begin, end, n_), count, [&](const Expr& i) { return key(task, i); });
      p_.each(Range(index(0), count, k_),
              [&](const Expr& i) { p_.put(places, at + i, p_.at(places, at + i) + cast(DType::i32, begin)); });
    });
    // The last tile may have fewer than k elements.
    const Dim last = n_ - (tiles - Dim(1)) * Dim(kTile);
    const ProgramBuilder::Array chosen = p_.array(DType::i32, lines * k_), rest = p_.array(DType::i32, lines * k_);
    choose(chosen, rest, &places, (tiles - Dim(1)) * k_ + min(k_, last), candidates);
  }

 private:
  static constexpr int64_t kTile = 8192, kMostTiledLines = 132, kSmallPart = 4;

  bool has_tiles() const {
    const auto lines = (outer_ * inner_).upper_bound(), k = k_.upper_bound();
    return lines && k && *lines < kMostTiledLines && *k * kSmallPart <= kTile &&
           n_.lower_bound().value_or(0) > 2 * kTile;
  }
  Expr line(const std::vector<Expr>& task) const { return task[0] * extent(inner_) + task[1]; }
  Expr at(const std::vector<Expr>& task, const Dim& count, const Expr& i) const {
    return (task[0] * extent(count) + i) * extent(inner_) + task[1];
  }
  Expr key(const std::vector<Expr>& task, const Expr& i) {
    const Expr k = ascending_key(cast(arithmetic_dtype(p_.input_dtype(0)), p_.input(0, {at(task, n_, i)})));
    return takes_largest(p_.node()) ? unary(UnaryOp::bit_not, k) : k;
  }

  /// Chooses the best k elements of a line, or of `count` candidates, which are positions in the line.
  void choose(const ProgramBuilder::Array& places, const ProgramBuilder::Array& spare,
              const ProgramBuilder::Array* candidates, const Dim& count, const Dim& pitch = 0) {
    p_.shared_launch({outer_, inner_}, [&](const std::vector<Expr>& task) {
      p_.require(binary(BinaryOp::less_equal, extent(k_), extent(n_)));
      const Expr first = p_.let(line(task) * extent(k_)), begin = p_.let(line(task) * extent(pitch));
      const auto place = [&](const Expr& i) {
        return candidates == nullptr ? i : cast(DType::i64, p_.at(*candidates, begin + i));
      };
      p_.order(places, spare, first, Range(count), extent(k_), [&](const Expr& i) { return key(task, place(i)); });
      p_.each(k_, [&](const Expr& rank) {
        const Expr found = place(cast(DType::i64, p_.at(places, first + rank)));
        p_.store(0, {at(task, k_, rank)}, p_.input(0, {at(task, n_, found)}));
        p_.store(1, {at(task, k_, rank)}, found);
      });
    });
  }

  ProgramBuilder& p_;
  const Shape& shape_;
  Dim n_, k_, outer_, inner_;
};

}  // namespace

void launches_top_k(ProgramBuilder& p) { TopKLaunches(p).run(); }

namespace {

std::vector<Tensor> reference_top_k(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t axis = axis_of(ctx.node(), x.rank()), k = ctx.input(1)->at_int(0);
  const int64_t size = x.shape()[static_cast<size_t>(axis)];
  if (k < 0 || k > size)
    fail_node(ctx.node(), concat("k is ", k, ", but there are ", size, " elements along axis ", axis));
  Tensor values(x.dtype(), chosen_shape(x, axis, k)), places(DType::i64, values.shape());
  std::vector<std::vector<int64_t>> out_lines;
  for_each_line(values.shape(), axis, [&](const std::vector<int64_t>& line) { out_lines.push_back(line); });
  size_t which = 0;
  for_each_line(x.shape(), axis, [&](const std::vector<int64_t>& line) {
    const std::vector<int64_t> order = sorted_positions(x, line, takes_largest(ctx.node()));
    const std::vector<int64_t>& out = out_lines[which++];
    for (size_t r = 0; r < out.size(); ++r) {
      copy_element(values, out[r], x, line[static_cast<size_t>(order[r])]);
      places.set_int(out[r], order[r]);
    }
  });
  std::vector<Tensor> outputs = {std::move(values), std::move(places)};
  outputs.resize(static_cast<size_t>(ctx.output_count()));
  return outputs;
}

}  // namespace

constinit const OpDef op_TopK{.name = "TopK",
                              .since = 1,
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .max_outputs = 2,
                              .types = {Types::numbers, Types::integers},
                              .results = {Types::as_first, Types::i64},
                              .kind = OpKind::program,
                              .upgrade = upgrade_top_k,
                              .infer = infer_top_k,
                              .program = program_top_k,
                              .data_extent = chosen_extent,
                              .reference = reference_top_k};
constinit const OpDef op_gart_Ranks{.name = "Ranks",
                                    .domain = "gart",
                                    .min_inputs = 1,
                                    .max_inputs = 1,
                                    .kind = OpKind::reduction,
                                    .traits = {.reads = Reads::window},
                                    .infer = infer_ranks,
                                    .lower = lower_ranks,
                                    .reference = reference_ranks};
constinit const OpDef op_gart_PlacesOfRanks{.name = "PlacesOfRanks",
                                            .domain = "gart",
                                            .min_inputs = 2,
                                            .max_inputs = 2,
                                            .kind = OpKind::reduction,
                                            .traits = {.reads = Reads::window},
                                            .infer = infer_places,
                                            .lower = lower_places,
                                            .data_extent = chosen_extent,
                                            .reference = reference_places};

}  // namespace gcg
