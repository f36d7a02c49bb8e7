// gart.PackMatMul, gart.PackedMatMul, gart.PackedRows, gart.PackConv: constants in the order in which kernels read
// them.
#include "compiler/kernel/packing.h"

#include <algorithm>
#include <cstring>

#include "compiler/kernel/pack_panels.h"
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {

namespace {

// ---- PackMatMul: b[K, N], or b[N, K] if `transposed` -> [ceil(N/columns), K, columns]; zeros pad the last panel.
//      8-bit integers are not transposed. They are in VNNI
// groups: [ceil(N/columns), ceil(K/4), columns, 4]; zeros also pad the last groups

int64_t columns_of(const Node& node) { return node.int_attribute("columns", kPanelColumns); }
bool in_vnni_groups(DType dtype) { return size_of(dtype) == 1; }

Shape packed_shape(DType dtype, const Dim& k, const Dim& n, int64_t columns) {
  if (in_vnni_groups(dtype)) return {ceil_div(n, columns), ceil_div(k, kVnniGroup), columns, kVnniGroup};
  return {ceil_div(n, columns), k, columns};
}

void infer_pack_matmul(InferContext& ctx) {
  if (ctx.rank(0) != 2) ctx.fail("only a matrix can be packed");
  const size_t k = ctx.node().int_attribute("transposed", 0) != 0 ? 1 : 0;
  if (k == 1 && in_vnni_groups(ctx.dtype(0))) ctx.fail("a transposed matrix of bytes is not packed");
  ctx.set_output(0, ctx.dtype(0),
                 packed_shape(ctx.dtype(0), ctx.shape(0)[k], ctx.shape(0)[1 - k], columns_of(ctx.node())));
}

/// Packs `b` [K, N], or [N, K] if `transposed`.
template <class Element>
void pack_elements(const Tensor& b, bool transposed, int64_t columns, Tensor& packed) {
  const int64_t rows = b.shape()[0], stride = b.shape()[1];
  const StridedMatrix<Element> matrix = {reinterpret_cast<const Element*>(b.data()), transposed ? stride : rows,
                                         transposed ? rows : stride, transposed ? 1 : stride, transposed ? stride : 1};
  pack_panels(matrix, columns, reinterpret_cast<Element*>(packed.mutable_data()));
}

/// Packs `b` [K, N] in VNNI groups.
void pack_bytes(const Tensor& b, int64_t columns, Tensor& packed) {
  const int64_t k = b.shape()[0], n = b.shape()[1], rows = blocks_of(k, kVnniGroup) * kVnniGroup;
  for (int64_t first = 0; first < n; first += columns)
    for (int64_t row = 0; row < k; ++row) {
      uint8_t* to = packed.mutable_data() + first * rows + row / kVnniGroup * kVnniGroup * columns + row % kVnniGroup;
      const uint8_t* from = b.data() + row * n + first;
      for (int64_t j = 0; j < std::min(columns, n - first); ++j) to[j * kVnniGroup] = from[j];
    }
}

std::vector<Tensor> reference_pack_matmul(ReferenceContext& ctx) {
  const Tensor& b = *ctx.input(0);
  const bool transposed = ctx.node().int_attribute("transposed", 0) != 0;
  const int64_t k = b.shape()[transposed ? 1 : 0], n = b.shape()[transposed ? 0 : 1], columns = columns_of(ctx.node());
  Tensor packed(b.dtype(), to_extents(packed_shape(b.dtype(), k, n, columns)));
  switch (size_of(b.dtype())) {
    case 1:
      pack_bytes(b, columns, packed);
      break;
    case 2:
      pack_elements<uint16_t>(b, transposed, columns, packed);
      break;
    case 4:
      pack_elements<float>(b, transposed, columns, packed);
      break;
    default:
      pack_elements<double>(b, transposed, columns, packed);
  }
  return {packed};
}

// ---- PackedMatMul: a[..., K] by a packed matrix -> [..., n]. u8 by i8 gives i32. Words of integers, with scales and
//      optional offsets (BlockPacking), give f32

BlockPacking block_packing(const Node& node) {
  return {node.int_attribute("k", 0), node.int_attribute("bits", 0), node.int_attribute("block", 0),
          node.inputs.size() > 3};
}
bool has_blocks(const Node& node) { return node.inputs.size() > 2; }

/// Checks a matrix of blocks whose words are input `words`.
void infer_blocks(InferContext& ctx, int words) {
  const Node& node = ctx.node();
  const BlockPacking packing = block_packing(node);
  const int64_t columns = columns_of(node), panels = blocks_of(node.int_attribute("n", 0), columns);
  for (const int i : {words, 2, 3})
    if (const Shape expected = {panels, i == words ? packing.words() : packing.blocks(), columns};
        ctx.has_input(i) && ctx.shape(i) != expected)
      ctx.fail(concat("input ", i, " must be ", str(expected), " for n, k, bits and block"));
}

void infer_packed_matmul(InferContext& ctx) {
  const Node& node = ctx.node();
  const int64_t n = node.int_attribute("n", 0), k = node.int_attribute("k", 0), columns = columns_of(node);
  if (ctx.rank(0) < 1) ctx.fail("the left operand must have at least one dimension");
  if (has_blocks(node))
    infer_blocks(ctx, 1);
  else if (ctx.shape(1) != packed_shape(ctx.dtype(1), k, n, columns))
    ctx.fail("the packed operand does not match n, k and columns");
  ctx.require_equal(ctx.shape(0).back(), k, "the inner extents");
  Shape shape = ctx.shape(0);
  shape.back() = n;
  ctx.set_output(0, has_blocks(node) ? DType::f32 : sum_type(ctx.dtype(1)), shape);
}

/// w[k, column] of a panel whose words are input `words`.
Expr lower_blocks(LowerContext& ctx, int words, const Expr& panel, const Expr& k, const Expr& column) {
  const BlockPacking packing = block_packing(ctx.node());
  const auto of_block = [&](int i) {
    return ctx.input(i, {panel, binary(BinaryOp::floor_div, k, index(packing.block)), column});
  };
  const Expr word = ctx.input(words, {panel, binary(BinaryOp::floor_div, k, index(packing.per_word())), column});
  const Expr from = cast(DType::i32, binary(BinaryOp::mod, k, index(packing.per_word()))) *
                    number(DType::i32, static_cast<double>(packing.bits));
  const Expr top = number(DType::i32, static_cast<double>(32 - packing.bits));
  const Expr q = binary(BinaryOp::shift_right, binary(BinaryOp::shift_left, word, top - from), top);
  const Expr w = cast(DType::f32, q) * of_block(2);
  return packing.offsets ? w - of_block(3) : w;
}

/// w[k, n] of the packed matrix that is input `words`.
Expr packed_element(LowerContext& ctx, int words, const Expr& k, const Expr& n) {
  const Expr columns = index(columns_of(ctx.node()));
  const Expr panel = binary(BinaryOp::floor_div, n, columns), column = binary(BinaryOp::mod, n, columns);
  if (has_blocks(ctx.node())) return lower_blocks(ctx, words, panel, k, column);
  if (!in_vnni_groups(ctx.input_value(words).dtype)) return ctx.input(words, {panel, k, column});
  const Expr group = index(kVnniGroup);
  return ctx.input(words, {panel, binary(BinaryOp::floor_div, k, group), column, binary(BinaryOp::mod, k, group)});
}

Expr lower_packed_matmul(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Axis k = ctx.fresh_axis(ctx.node().int_attribute("k", 0));
  std::vector<Expr> a_index = at;
  a_index.back() = axis_ref(k);
  const Expr b = packed_element(ctx, 1, axis_ref(k), at.back());
  if (has_blocks(ctx.node())) return reduce(ReduceOp::sum, {k}, ctx.input(0, a_index) * b);
  const DType type = sum_type(ctx.input_value(1).dtype);
  return reduce(ReduceOp::sum, {k}, cast(type, ctx.input(0, a_index)) * cast(type, b));
}

/// w[i, column] of the packed matrix that is input `words`.
double packed_number(ReferenceContext& ctx, int words, int64_t i, int64_t column) {
  const Tensor& packed = *ctx.input(words);
  const int64_t columns = columns_of(ctx.node());
  if (!has_blocks(ctx.node())) {
    const int64_t group = in_vnni_groups(packed.dtype()) ? kVnniGroup : 1;
    const int64_t rows = blocks_of(ctx.node().int_attribute("k", 0), group) * group;
    const int64_t row = column / columns * rows + i / group * group;
    return packed.at_double(row * columns + column % columns * group + i % group);
  }
  const BlockPacking packing = block_packing(ctx.node());
  const auto at = [&](int64_t rows, int64_t row) {
    return (column / columns * rows + row) * columns + column % columns;
  };
  const int64_t word = packed.at_int(at(packing.words(), i / packing.per_word())), block = i / packing.block;
  const int64_t shifted = word >> (i % packing.per_word() * packing.bits), top = 64 - packing.bits;
  const double q = static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(shifted) << top) >> top);
  const double offset = packing.offsets ? ctx.input(3)->at_double(at(packing.blocks(), block)) : 0;
  return q * ctx.input(2)->at_double(at(packing.blocks(), block)) - offset;
}

std::vector<Tensor> reference_packed_matmul(ReferenceContext& ctx) {
  const Tensor &a = *ctx.input(0), &packed = *ctx.input(1);
  const int64_t n = ctx.node().int_attribute("n", 0), k = ctx.node().int_attribute("k", 0);
  std::vector<int64_t> shape = a.shape();
  shape.back() = n;
  Tensor y(has_blocks(ctx.node()) ? DType::f32 : sum_type(packed.dtype()), shape);
  for (int64_t o = 0; o < y.elements(); ++o) {
    const int64_t row = o / n, column = o % n;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += a.at_double(row * k + i) * packed_number(ctx, 1, i, column);
    y.set_double(o, sum);
  }
  return {y};
}

// ---- PackedRows: w[K, n], packed, and indices -> out[i..., j] = w[j, indices[i...]]. An embedding table that is also,
//      transposed, the weights of a product is read as the product reads it

void infer_packed_rows(InferContext& ctx) {
  const Node& node = ctx.node();
  const int64_t n = node.int_attribute("n", 0), k = node.int_attribute("k", 0), columns = columns_of(node);
  if (has_blocks(node))
    infer_blocks(ctx, 0);
  else if (ctx.shape(0) != packed_shape(ctx.dtype(0), k, n, columns))
    ctx.fail("the packed matrix does not match n, k and columns");
  Shape shape = ctx.shape(1);
  shape.emplace_back(k);
  ctx.set_output(0, has_blocks(node) ? DType::f32 : ctx.dtype(0), shape);
}

Expr lower_packed_rows(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Expr row = integer_input(ctx, 1, Index(at.begin(), at.end() - 1));
  return packed_element(ctx, 0, at.back(), element_index(ctx, row, ctx.node().int_attribute("n", 0)));
}

std::vector<Tensor> reference_packed_rows(ReferenceContext& ctx) {
  const Tensor& indices = *ctx.input(1);
  const int64_t n = ctx.node().int_attribute("n", 0), k = ctx.node().int_attribute("k", 0);
  std::vector<int64_t> shape = indices.shape();
  shape.push_back(k);
  Tensor y(ctx.output_dtype(0), shape);
  for (int64_t i = 0; i < y.elements(); ++i)
    y.set_double(i, packed_number(ctx, 0, i % k, checked_element(ctx, indices.at_int(i / k), n)));
  return {y};
}

// ---- PackConv: w[CO, CI/group, kernel...] in the order of ConvPacking

ConvPacking packing_of(const Node& node, DType type, const Shape& w) {
  return {w[1].constant(), w[0].constant(), node.int_attribute("group", 1), node.int_attribute("plain", 0) != 0,
          in_vnni_groups(type)};
}

void infer_pack_conv(InferContext& ctx) {
  const Shape& w = ctx.shape(0);
  if (w.size() < 3) ctx.fail("the weights must have at least one spatial dimension");
  if (!w[0].is_constant() || !w[1].is_constant()) ctx.fail("the channels must be known");
  const ConvPacking packing = packing_of(ctx.node(), ctx.dtype(0), w);
  if (packing.bytes && packing.plain) ctx.fail("a convolution of bytes reads blocks of channels");
  ctx.set_output(0, ctx.dtype(0), packing.shape({w.begin() + 2, w.end()}));
}

Expr lower_pack_conv(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& w = ctx.input_shape(0);
  const ConvPacking packing = packing_of(ctx.node(), ctx.input_value(0).dtype, w);
  const bool quads = packing.vnni_group() > 1;
  const size_t rank = quads ? at.size() - 1 : at.size();
  const Expr row = quads ? at[rank - 2] * index(packing.vnni_group()) + at[rank] : at[rank - 2];
  std::vector<Expr> from = {at[0] * index(packing.columns()) + at[rank - 1], at[1] * index(packing.unit()) + row};
  Expr inside;
  const std::pair<int64_t, int64_t> ends[] = {{packing.outputs, packing.columns()}, {packing.inputs, packing.unit()}};
  for (size_t d = 0; d < 2; ++d) {
    if (ends[d].first % ends[d].second == 0) continue;
    inside = both(inside, binary(BinaryOp::less, from[d], index(ends[d].first)));
    from[d] = binary(BinaryOp::min, from[d], index(ends[d].first - 1));
  }
  from.insert(from.end(), at.begin() + 2, at.begin() + static_cast<std::ptrdiff_t>(rank) - 2);
  const Expr weight = ctx.input(0, from);
  return inside ? select(inside, weight, number(weight->dtype, 0)) : weight;
}

std::vector<Tensor> reference_pack_conv(ReferenceContext& ctx) {
  const Tensor& w = *ctx.input(0);
  const ConvPacking packing = packing_of(ctx.node(), w.dtype(), to_shape(w.shape()));
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  const int64_t taps = element_count(kernel);
  Tensor packed(w.dtype(), to_extents(packing.shape(to_shape(kernel))));
  // The inner loops go over a panel's columns, so that the cache lines of one input channel stay in the cache while
  // they are filled.
  const int64_t size = size_of(w.dtype()), step = packing.place(0, 0, 1, taps) * size;
  uint8_t* to = packed.mutable_data();
  for (int64_t panel = 0; panel < packing.outputs; panel += packing.columns())
    for (int64_t ci = 0; ci < packing.inputs; ++ci)
      for (int64_t co = panel; co < std::min(panel + packing.columns(), packing.outputs); ++co) {
        const uint8_t* from = w.data() + (co * packing.inputs + ci) * taps * size;
        uint8_t* place = to + packing.place(co, ci, 0, taps) * size;
        for (int64_t tap = 0; tap < taps; ++tap)
          std::memcpy(place + tap * step, from + tap * size, static_cast<size_t>(size));
      }
  return {packed};
}

}  // namespace

const OpDef op_gart_PackMatMul = {.name = "PackMatMul",
                                  .domain = "gart",
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .kind = OpKind::opaque,
                                  .infer = infer_pack_matmul,
                                  .reference = reference_pack_matmul};
const OpDef op_gart_PackedMatMul = {.name = "PackedMatMul",
                                    .domain = "gart",
                                    .min_inputs = 2,
                                    .max_inputs = 4,
                                    .kind = OpKind::contraction,
                                    .infer = infer_packed_matmul,
                                    .lower = lower_packed_matmul,
                                    .reference = reference_packed_matmul};
const OpDef op_gart_PackedRows = {.name = "PackedRows",
                                  .domain = "gart",
                                  .min_inputs = 2,
                                  .max_inputs = 4,
                                  .types = {Types::any, Types::integers, Types::floats, Types::floats},
                                  .kind = OpKind::movement,
                                  .traits = {.data_inputs = 1},
                                  .infer = infer_packed_rows,
                                  .lower = lower_packed_rows,
                                  .reference = reference_packed_rows};
const OpDef op_gart_PackConv = {.name = "PackConv",
                                .domain = "gart",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .kind = OpKind::movement,
                                .infer = infer_pack_conv,
                                .lower = lower_pack_conv,
                                .reference = reference_pack_conv};

}  // namespace gcg
