// Matrix products, and operands as strided views.
#include <algorithm>
#include <tuple>

#include "compiler/kernel/flat_loops.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/lowering/group_lowering.h"
#include "compiler/lowering/operand_view.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// With at least this many rows, register tiles (at most 9 rows high) are well filled. Measured on a Granite Rapids
/// with 24 rows, K = 64, 384 columns: 13.5 us as 24 products of one row, 8.1 us as one product of 24 rows.
constexpr double kFillTiles = 16;

}  // namespace

void GroupLowering::matmul() {
  const bool packed = std::string_view(anchor().op->name) == "PackedMatMul";
  const Shape& shape = *value(anchor().outputs[0]).shape;
  std::vector<Axis> axes = values_.axes_for(shape);
  const Shape& a_shape = *value(anchor().inputs[0]).shape;
  // Packed weights have a known k, even if k is symbolic in the left operand.
  const Axis k = values_.fresh_axis(packed ? Dim(anchor().int_attribute("k", 0)) : a_shape.back());
  all_extents_ = values_.extents();
  all_extents_[k.id] = k.extent;

  Strided a = strided(group_.anchor, 0, operand_index(a_shape, axes, axes[axes.size() - 2], k));
  Strided b;
  if (packed)
    b = {anchor().inputs[1], anchor().inputs[1], {}};
  else
    b = strided(group_.anchor, 1, operand_index(*value(anchor().inputs[1]).shape, axes, k, axes.back()));

  Expr e = epilogue(axes);
  std::vector<Expr> index = contraction_index(axes);
  take_operands();
  MatMulKernel kernel;
  kernel.a.operand = add_operand(a);
  kernel.b.operand = add_operand(b);
  if (packed && anchor().inputs.size() > 2) lower_blocks(kernel);
  kernel.result = add_result(result_shape());
  FlatIndices flat(out_.kernel.operands);
  e = flat.flatten(e);
  index = flat.flatten_store(kernel.result, index);

  // Axes are merged only if the operands' own strides also allow it, so these strides are passed as index expressions.
  Expr a_index = linear(a.affine, axes, k), b_index = linear(b.affine, axes, k);
  const Axis n = axes.back();
  std::vector<Axis> rows(axes.begin(), axes.end() - 1);
  std::vector<Expr*> all = {&e, &a_index, &b_index};
  for (Expr& i : index) all.push_back(&i);
  merge_axes(rows, all, next_axis_);
  const Affine fa = *as_affine(a_index), fb = *as_affine(b_index);
  put_rows_last(rows, fa, fb, packed ? kFillTiles : kTypicalExtent);
  kernel.m = rows.back();
  kernel.batch.assign(rows.begin(), rows.end() - 1);
  kernel.n = n;
  kernel.k = k;
  kernel.packed_columns = packed ? anchor().int_attribute("columns", 48) : 0;
  kernel.near = packed && anchor().int_attribute("near", 0) != 0;
  const Value& right = value(anchor().inputs[1]);
  kernel.narrow = packed && right.dtype == DType::i8 && right.is_constant() && in_narrow_pairs(*right.constant);
  fill(kernel.a, fa, kernel.batch, kernel.m, k);
  if (!packed) fill(kernel.b, fb, kernel.batch, k, n);
  kernel.epilogue = e;
  kernel.index = index;
  out_.kernel.body = std::move(kernel);
}

void GroupLowering::lower_blocks(MatMulKernel& kernel) {
  const Node& node = anchor();
  kernel.blocks = {.rows = node.int_attribute("k", 0),
                   .bits = node.int_attribute("bits", 0),
                   .block = node.int_attribute("block", 0),
                   .offsets = node.inputs.size() > 3,
                   .exact = node.int_attribute("exact", 0) != 0};
  kernel.scales = add_operand({node.inputs[2], node.inputs[2], {}});
  if (kernel.blocks->offsets) kernel.offsets = add_operand({node.inputs[3], node.inputs[3], {}});
}

void GroupLowering::put_rows_last(std::vector<Axis>& axes, const Affine& a, const Affine& b, double enough) {
  const auto certain = [&](const Axis& axis) {
    return axis.extent.is_constant() ? typical(axis.extent) : std::min(typical(axis.extent), enough);
  };
  const auto order = [&](const Axis& axis) {
    return std::tuple(certain(axis), typical(axis.extent), -typical(stride(a, axis)));
  };
  auto rows = axes.end();
  for (auto it = axes.begin(); it != axes.end(); ++it)
    if (!b.strides.count(it->id) && (rows == axes.end() || order(*it) >= order(*rows))) rows = it;
  if (rows == axes.end())
    axes.push_back(Axis{next_axis_++, Dim(1)});
  else
    std::rotate(rows, rows + 1, axes.end());
}

GroupLowering::Strided GroupLowering::strided(NodeId product, int input, const std::vector<Expr>& index) {
  const ValueId v = g_.node(product).inputs[static_cast<size_t>(input)];
  auto it = f_.operand_sources.find({product, input});
  const ValueId source = it == f_.operand_sources.end() ? v : it->second;
  ValueLowering lowering(g_, [&](ValueId x) { return x == source ? source : ValueId(); });
  const auto place = v == source ? value(source).in_memory(index) : place_in(g_, lowering, v, source, index);
  GCG_CHECK(place, "operand ", input, " of '", g_.node(product).name, "' does not lie in '", value(source).name, "'");
  auto affine = as_affine(linear_index(*place, value(source).memory_shape(), all_extents_));
  GCG_CHECK(affine, "operand ", input, " of '", g_.node(product).name, "' is not a strided view");
  return {source, stored(source), *affine};
}

Dim GroupLowering::stride(const Affine& a, const Axis& axis) {
  auto it = a.strides.find(axis.id);
  return it == a.strides.end() ? Dim(0) : it->second;
}

void GroupLowering::fill(MatrixView& view, const Affine& affine, const std::vector<Axis>& batch, const Axis& row,
                         const Axis& column) {
  view.offset = affine.base;
  for (const Axis& b : batch) view.batch_strides.push_back(stride(affine, b));
  view.row_stride = stride(affine, row);
  view.column_stride = stride(affine, column);
}

std::vector<Expr> GroupLowering::operand_index(const Shape& shape, const std::vector<Axis>& axes, const Axis& row,
                                               const Axis& column) {
  std::vector<Expr> index_;
  const size_t leading = shape.size() - 2, batch = axes.size() - 2;
  for (size_t i = 0; i < leading; ++i) {
    const Axis& axis = axes[batch - leading + i];
    index_.push_back(shape[i].is(1) ? index(0) : axis_ref(axis));
  }
  index_.push_back(axis_ref(row));
  index_.push_back(axis_ref(column));
  return index_;
}

Expr GroupLowering::linear(const Affine& affine, const std::vector<Axis>& axes, const Axis& k) const {
  Expr e = extent(affine.base);
  for (const Axis& a : axes) e = axis_ref(a) * extent(stride(affine, a)) + e;
  return axis_ref(k) * extent(stride(affine, k)) + e;
}

int GroupLowering::add_operand(const Strided& s) {
  out_.kernel.operands.push_back(Operand{memory_dtype(s.value, s.storage), value(s.value).memory_shape(), false, -1});
  out_.storages.push_back(s.storage);
  return static_cast<int>(out_.kernel.operands.size()) - 1;
}

}  // namespace gcg
