// Compress, NonZero and Unique. The number of result elements depends on the data, so their extents are fresh symbols
// and they have no lowering.
#include <algorithm>
#include <numeric>

#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

bool has_axis(const Node& node) { return node.has_attribute("axis"); }

size_t axis_of(const Node& node, int64_t rank) {
  return static_cast<size_t>(wrap_axis(node.int_attribute("axis", 0), rank));
}

/// The slices of `x` along `axis` with these indices, in this order.
Tensor take(const Tensor& x, size_t axis, const std::vector<int64_t>& slices) {
  std::vector<int64_t> shape = x.shape();
  shape[axis] = static_cast<int64_t>(slices.size());
  return rearranged(x, shape, [&](std::vector<int64_t> at) {
    at[axis] = slices[static_cast<size_t>(at[axis])];
    return at;
  });
}

Tensor flattened(const Tensor& x) { return x.reshaped({x.elements()}); }

// ---- Compress: the slices (or elements, without axis) whose condition is true

void infer_compress(InferContext& ctx) {
  if (ctx.rank(1) != 1) ctx.fail("the condition (input 1) must be a vector");
  Dim extent;
  if (const auto condition = ctx.int_contents(1))
    extent = std::count(condition->begin(), condition->end(), 1);
  else
    extent = ctx.fresh_symbol("compressed");
  if (!has_axis(ctx.node())) return ctx.set_output(0, ctx.dtype(0), {extent});
  Shape shape = ctx.shape(0);
  shape[static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0)))] = extent;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

std::vector<Tensor> reference_compress(ReferenceContext& ctx) {
  const bool flat = !has_axis(ctx.node());
  const Tensor x = flat ? flattened(*ctx.input(0)) : *ctx.input(0);
  const size_t axis = flat ? 0 : axis_of(ctx.node(), x.rank());
  const Tensor& condition = *ctx.input(1);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < condition.elements(); ++i)
    if (condition.at_int(i) != 0) positions.push_back(i);
  if (!positions.empty() && positions.back() >= x.shape()[axis])
    fail_node(ctx.node(), concat("condition ", positions.back(), " is true, but the extent is ", x.shape()[axis]));
  return {take(x, axis, positions)};
}

// ---- NonZero: the indices of all elements that are not zero, one column each

void infer_non_zero(InferContext& ctx) {
  ctx.set_output(0, DType::i64, {Dim(ctx.rank(0)), ctx.fresh_symbol("nonzero")});
}

std::vector<Tensor> reference_non_zero(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  std::vector<std::vector<int64_t>> found;
  int64_t i = 0;
  for_each_index(x.shape(), [&](const std::vector<int64_t>& at) {
    if (is_float(x.dtype()) ? x.at_double(i) != 0 : x.at_int(i) != 0) found.push_back(at);
    ++i;
  });
  const auto columns = static_cast<int64_t>(found.size());
  Tensor y(DType::i64, {x.rank(), columns});
  for (int64_t d = 0; d < x.rank(); ++d)
    for (int64_t c = 0; c < columns; ++c)
      y.set_int(d * columns + c, found[static_cast<size_t>(c)][static_cast<size_t>(d)]);
  return {std::move(y)};
}

// ---- Unique: distinct slices (or elements), first positions, inverse and counts

void infer_unique(InferContext& ctx) {
  const Dim count = ctx.fresh_symbol("unique");
  Shape shape{count};
  Dim slices = product(ctx.shape(0));
  if (has_axis(ctx.node())) {
    const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0)));
    shape = ctx.shape(0);
    slices = shape[axis];
    shape[axis] = count;
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  ctx.set_output(1, DType::i64, {count});
  ctx.set_output(2, DType::i64, {slices});
  ctx.set_output(3, DType::i64, {count});
}

/// Orders the slices of a tensor along an axis lexicographically; NaN comes last.
template <class T>
class SliceOrder {
 public:
  SliceOrder(const Tensor& x, size_t axis) {
    std::vector<bool> swept(x.shape().size(), true);
    swept[axis] = false;
    const SplitOffsets offsets = split_offsets(x.shape(), swept);
    for (int64_t slice : offsets.outer) {
      slices_.emplace_back();
      for (int64_t inner : offsets.swept) slices_.back().push_back(get<T>(x, slice + inner));
    }
  }
  int64_t size() const { return static_cast<int64_t>(slices_.size()); }
  bool less(int64_t a, int64_t b) const {
    return std::lexicographical_compare(slice(a).begin(), slice(a).end(), slice(b).begin(), slice(b).end(),
                                        [](T x, T y) { return x < y || (y != y && x == x); });
  }

 private:
  const std::vector<T>& slice(int64_t i) const { return slices_[static_cast<size_t>(i)]; }
  std::vector<std::vector<T>> slices_;
};

/// Groups the indices of equal slices; groups are in ascending order or in order of first occurrence.
template <class T>
std::vector<std::vector<int64_t>> equal_slices(const SliceOrder<T>& order, bool sorted) {
  std::vector<int64_t> numbers(static_cast<size_t>(order.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::stable_sort(numbers.begin(), numbers.end(), [&](int64_t a, int64_t b) { return order.less(a, b); });
  std::vector<std::vector<int64_t>> groups;
  for (int64_t n : numbers) {
    if (groups.empty() || order.less(groups.back().front(), n)) groups.emplace_back();
    groups.back().push_back(n);
  }
  if (!sorted) std::sort(groups.begin(), groups.end());  // groups are sorted by their first elements
  return groups;
}

std::vector<Tensor> reference_unique(ReferenceContext& ctx) {
  const bool flat = !has_axis(ctx.node());
  const Tensor x = flat ? flattened(*ctx.input(0)) : *ctx.input(0);
  const size_t axis = flat ? 0 : axis_of(ctx.node(), x.rank());
  const bool sorted = ctx.node().int_attribute("sorted", 1) != 0;
  const auto groups =
      with_number_type(x.dtype(), [&]<class T>() { return equal_slices(SliceOrder<T>(x, axis), sorted); });
  std::vector<int64_t> first, inverse(static_cast<size_t>(x.shape()[axis])), counts;
  for (size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g].front());
    counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (int64_t n : groups[g]) inverse[static_cast<size_t>(n)] = static_cast<int64_t>(g);
  }
  std::vector<Tensor> outputs{take(x, axis, first), Tensor::vector_i64(first), Tensor::vector_i64(inverse),
                              Tensor::vector_i64(counts)};
  outputs.resize(static_cast<size_t>(ctx.output_count()));
  return outputs;
}

}  // namespace

constinit const OpDef op_Compress{.name = "Compress",
                                  .since = 9,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .types = {Types::any, Types::booleans},
                                  .infer = infer_compress,
                                  .reference = reference_compress};
constinit const OpDef op_NonZero{.name = "NonZero",
                                 .since = 9,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .results = {Types::i64},
                                 .infer = infer_non_zero,
                                 .reference = reference_non_zero};
constinit const OpDef op_Unique{.name = "Unique",
                                .since = 11,
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .max_outputs = 4,
                                .types = {Types::numbers_and_bool},
                                .results = {Types::as_first, Types::i64},
                                .infer = infer_unique,
                                .reference = reference_unique};

}  // namespace gcg
