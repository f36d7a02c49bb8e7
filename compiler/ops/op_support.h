// Helpers that several operator families share: index arithmetic for `lower`, plain loops for `reference`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/expr.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// Fails with "Conv 'conv1': message".
[[noreturn]] void fail_node(const Node& node, const std::string& message);
/// The elements of an integer value, if they are known numbers: constant data or constant contents.
std::optional<std::vector<int64_t>> known_ints(const Value& value);
/// Normalises an axis that inference has already checked.
inline int64_t wrap_axis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
/// One flag per dimension, true from dimension `first` on.
std::vector<bool> trailing_axes(int64_t rank, int64_t first);

// ---- lowering

/// f32 for the storage types f16 and bf16, else the type itself.
DType arithmetic_dtype(DType dtype);
/// A literal of any dtype.
Expr number(DType dtype, double value);
/// ctx.input(i, index) in its arithmetic dtype.
Expr arithmetic_input(LowerContext& ctx, int i, const std::vector<Expr>& index);
/// `value` in the dtype of the output.
Expr as_output(const LowerContext& ctx, int output, const Expr& value);
/// The index into a tensor of `shape` that numpy broadcasting (aligned right) gives for an output index.
std::vector<Expr> broadcast_index(const Shape& shape, std::span<const Expr> output_index);
/// `a && b`; a null operand means true.
Expr both(const Expr& a, const Expr& b);

/// `index` with fresh reduction axes in the swept dimensions.
struct Sweep {
  std::vector<Axis> axes;
  std::vector<Expr> index;
};
Sweep sweep(LowerContext& ctx, const Shape& shape, const std::vector<bool>& swept, const std::vector<Expr>& index);
/// reduce(), or the body itself if there are no axes.
Expr reduce_over(ReduceOp op, const std::vector<Axis>& axes, const Expr& body);
/// The number of points of the axes, as a value of `dtype`.
Expr points(DType dtype, const std::vector<Axis>& axes);
/// The sum of body over the axes, divided by their number of points.
Expr mean_over(const std::vector<Axis>& axes, const Expr& body);

// ---- reference

/// Row-major strides in elements.
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape);
int64_t element_count(const std::vector<int64_t>& shape);
/// Element offsets of a tensor, split into outer and swept dimensions. Every element is at outer[i] + swept[j] for
/// exactly one (i, j). Both lists are in row-major order of their dimensions.
struct SplitOffsets {
  std::vector<int64_t> outer, swept;
};
SplitOffsets split_offsets(const std::vector<int64_t>& shape, const std::vector<bool>& swept);
/// For each element of `output` (row-major): the offset of the element of `input` that broadcasts to it (aligned
/// right).
std::vector<int64_t> broadcast_offsets(const std::vector<int64_t>& input, const std::vector<int64_t>& output);

/// Calls `see(index)` for every index of the shape in row-major order.
template <class See>
void for_each_index(const std::vector<int64_t>& shape, See see) {
  const int64_t count = element_count(shape);
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    see(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

/// Element access in the computation type of references: double for floats, 64-bit integers otherwise.
template <class T>
T get(const Tensor& tensor, int64_t i) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.at_double(i);
  else
    return static_cast<T>(tensor.at_int(i));
}
template <class T>
void put(Tensor& tensor, int64_t i, T value) {
  if constexpr (std::is_same_v<T, double>)
    tensor.set_double(i, value);
  else
    tensor.set_int(i, static_cast<int64_t>(value));
}
/// Calls `body.operator()<T>()` with the computation type of references for a tensor of `dtype`.
template <class Body>
auto with_number_type(DType dtype, Body body) {
  if (is_float(dtype)) return body.template operator()<double>();
  if (is_unsigned_int(dtype)) return body.template operator()<uint64_t>();
  return body.template operator()<int64_t>();
}
/// a + b and a * b; integers wrap around.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

}  // namespace gcg
