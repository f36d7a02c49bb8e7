#include "compiler/ops/movement.h"

#include <set>

namespace gcg {

std::optional<std::vector<Dim>> known_dims(const Value& value) {
  if (value.shape && product(*value.shape).is(0)) return std::vector<Dim>();
  if (value.contents) return value.contents;
  if (!value.constant || !(is_int(value.dtype) || value.dtype == DType::boolean) || value.constant->rank() > 1)
    return std::nullopt;
  const std::vector<int64_t> ints = value.constant->to_ints();
  return std::vector<Dim>(ints.begin(), ints.end());
}

std::vector<int64_t> axes_or_leading(const InferContext& ctx, int i, size_t count, int64_t rank) {
  std::vector<int64_t> axes;
  if (!ctx.has_input(i)) {
    for (size_t a = 0; a < count; ++a) axes.push_back(ctx.axis(static_cast<int64_t>(a), rank));
    return axes;
  }
  const auto values = ctx.int_contents(i);
  if (!values) ctx.fail(concat("the axes (input ", i, ") must be known at compile time"));
  if (values->size() != count) ctx.fail(concat(values->size(), " axes for ", count, " values"));
  std::set<int64_t> seen;
  for (int64_t a : *values) {
    axes.push_back(ctx.axis(a, rank));
    if (!seen.insert(axes.back()).second) ctx.fail(concat("axis ", axes.back(), " is named twice"));
  }
  return axes;
}

int64_t position(const std::vector<int64_t>& at, const std::vector<int64_t>& shape) {
  int64_t p = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    GCG_CHECK(at[d] >= 0 && at[d] < shape[d], "index ", at[d], " in dimension ", d, " of extent ", shape[d]);
    p = p * shape[d] + at[d];
  }
  return p;
}

void copy_element(Tensor& to, int64_t i, const Tensor& from, int64_t j) {
  const int64_t width = size_of(from.dtype());
  std::memcpy(to.mutable_data() + i * width, from.data() + j * width, static_cast<size_t>(width));
}

}  // namespace gcg
