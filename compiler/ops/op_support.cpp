#include "compiler/ops/op_support.h"

#include "compiler/support/unsupported.h"

namespace gcg {

void fail_node(const Node& node, const std::string& message) {
  throw NodeError({node.name, node.op ? node.op->name : "node", node.op ? node.op->domain : "", 0, message});
}

std::optional<std::vector<int64_t>> known_ints(const Value& value) {
  if (value.shape && product(*value.shape).is(0)) return std::vector<int64_t>();
  if (value.constant) return value.constant->to_ints();
  if (!value.contents) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Dim& d : *value.contents) {
    if (!d.is_constant()) return std::nullopt;
    ints.push_back(d.constant());
  }
  return ints;
}

std::vector<bool> trailing_axes(int64_t rank, int64_t first) {
  std::vector<bool> flags(static_cast<size_t>(rank), false);
  for (int64_t d = first; d < rank; ++d) flags[static_cast<size_t>(d)] = true;
  return flags;
}

DType arithmetic_dtype(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype; }

Expr number(DType dtype, double value) {
  return is_float(dtype) ? constant_float(dtype, value)
                         : constant_int(storage_dtype(dtype), static_cast<int64_t>(value));
}

Expr arithmetic_input(LowerContext& ctx, int i, const std::vector<Expr>& index) {
  return cast(arithmetic_dtype(ctx.input_value(i).dtype), ctx.input(i, index));
}

Expr as_output(const LowerContext& ctx, int output, const Expr& value) {
  return cast(ctx.output_value(output).dtype, value);
}

std::vector<Expr> broadcast_index(const Shape& shape, std::span<const Expr> output_index) {
  GCG_CHECK(shape.size() <= output_index.size(), "broadcast to a lower rank");
  const size_t skipped = output_index.size() - shape.size();
  std::vector<Expr> result;
  for (size_t d = 0; d < shape.size(); ++d)
    result.push_back(broadcasts(shape[d]) ? index(0) : output_index[skipped + d]);
  return result;
}

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return binary(BinaryOp::logical_and, a, b);
}

Sweep sweep(LowerContext& ctx, const Shape& shape, const std::vector<bool>& swept, const std::vector<Expr>& at) {
  Sweep result{{}, at};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!swept[d]) continue;
    result.axes.push_back(ctx.fresh_axis(shape[d]));
    result.index[d] = axis_ref(result.axes.back());
  }
  return result;
}

Expr reduce_over(ReduceOp op, const std::vector<Axis>& axes, const Expr& body) {
  return axes.empty() ? body : reduce(op, axes, body);
}

Expr points(DType dtype, const std::vector<Axis>& axes) {
  Dim count = 1;
  for (const Axis& a : axes) count = count * a.extent;
  if (count.is_constant()) return number(dtype, static_cast<double>(count.constant()));
  return cast(dtype, extent(count));
}

Expr mean_over(const std::vector<Axis>& axes, const Expr& body) {
  return binary(BinaryOp::div, reduce_over(ReduceOp::sum, axes, body), points(body->dtype, axes));
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) strides[d] = stride;
  return strides;
}

int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

namespace {

std::vector<int64_t> offsets(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  std::vector<int64_t> result;
  result.reserve(static_cast<size_t>(element_count(extents)));
  for_each_index(extents, [&](const std::vector<int64_t>& at) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    result.push_back(offset);
  });
  return result;
}

}  // namespace

SplitOffsets split_offsets(const std::vector<int64_t>& shape, const std::vector<bool>& swept) {
  const std::vector<int64_t> strides = row_major_strides(shape);
  std::vector<int64_t> extents[2], steps[2];
  for (size_t d = 0; d < shape.size(); ++d) {
    extents[swept[d]].push_back(shape[d]);
    steps[swept[d]].push_back(strides[d]);
  }
  return {offsets(extents[0], steps[0]), offsets(extents[1], steps[1])};
}

std::vector<int64_t> broadcast_offsets(const std::vector<int64_t>& input, const std::vector<int64_t>& output) {
  const std::vector<int64_t> own = row_major_strides(input);
  const size_t skipped = output.size() - input.size();
  std::vector<int64_t> strides(output.size(), 0);
  for (size_t d = 0; d < input.size(); ++d) strides[skipped + d] = input[d] == 1 ? 0 : own[d];
  return offsets(output, strides);
}

}  // namespace gcg
