// com.microsoft: weights of 2, 4 or 8 bits, packed into bytes, with a scale per block: MatMulNBits and
// GatherBlockQuantized.
#include "compiler/ops/microsoft.h"
#include "compiler/ops/op_support.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

DType unsigned_of(const Expansion& x, int64_t bits) {
  if (bits == 2) return DType::u2;
  if (bits == 4) return DType::u4;
  if (bits == 8) return DType::u8;
  x.fail(concat("weights of ", bits, " bits are not supported; bits must be 2, 4 or 8"));
}

/// The first `count` elements of every row of `packed`; each byte has the first element in its lowest bits.
Tensor unpacked(const Expansion& x, const Tensor& packed, const char* what, int64_t rows, int64_t count, int64_t bits) {
  Tensor out(unsigned_of(x, bits), {rows, count});
  if (packed.dtype() != DType::u8 || rows < 1 || packed.elements() % rows != 0 ||
      packed.elements() / rows * 8 < count * bits)
    x.fail(concat(what, " must be ", rows, " rows of bytes with ", count, " elements of ", bits, " bits each"));
  const int64_t row_bytes = packed.elements() / rows;
  const std::span<const uint8_t> from = packed.as<uint8_t>();
  uint8_t* to = out.mutable_data();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i)
      *to++ = static_cast<uint8_t>(from[static_cast<size_t>(r * row_bytes + i * bits / 8)] >> (i * bits % 8) &
                                   ((1 << bits) - 1));
  return out;
}

// ---- MatMulNBits: A times the transpose of B [N, K]

enum : size_t { kA, kB, kScales, kZeros, kGroups, kBias };

void infer_matmul_nbits(InferContext& ctx) {
  Shape shape = ctx.shape(kA);
  if (shape.empty()) ctx.fail("A must have at least one dimension");
  ctx.require_equal(shape.back(), ctx.node().int_attribute("K", 0), "the last extent of A and K");
  shape.back() = ctx.node().int_attribute("N", 0);
  ctx.set_output(0, ctx.dtype(kA), shape);
}

/// For each element of a row: the block that its scale belongs to.
std::vector<int64_t> block_of_column(Expansion& x, int64_t k, int64_t block) {
  std::vector<int64_t> blocks;
  if (x.has_input(kGroups)) blocks = x.constant(kGroups, "g_idx").to_ints();
  if (x.has_input(kGroups) && static_cast<int64_t>(blocks.size()) < k)
    x.fail(concat("g_idx has fewer than ", k, " elements"));
  blocks.resize(static_cast<size_t>(k));
  for (int64_t i = 0; i < k && !x.has_input(kGroups); ++i) blocks[static_cast<size_t>(i)] = i / block;
  return blocks;
}

Results expand_matmul_nbits(Expansion& x) {
  const Node& node = x.node();
  const int64_t k = node.int_attribute("K", 0), n = node.int_attribute("N", 0), bits = node.int_attribute("bits", 4),
                block = node.int_attribute("block_size", 0);
  if (k < 1 || n < 1 || block < 1) x.fail("K, N and block_size must be at least 1");
  const int64_t blocks = (k + block - 1) / block;
  const ValueId b = x.constant(unpacked(x, x.constant(kB, "B"), "B", n, k, bits));
  ValueId scales = x.reshape(x.input(kScales), {n, blocks});
  const bool float_zeros = x.has_input(kZeros) && is_float(x.dtype(kZeros));
  ValueId zeros;
  if (float_zeros) {
    zeros = x.reshape(x.input(kZeros), {n, blocks});
  } else if (x.has_input(kZeros)) {
    zeros = x.constant(unpacked(x, x.constant(kZeros, "zero_points"), "zero_points", n, blocks, bits));
  } else {
    Tensor middle(unsigned_of(x, bits), {n, blocks});
    for (int64_t i = 0; i < middle.elements(); ++i) middle.mutable_data()[i] = static_cast<uint8_t>(1 << (bits - 1));
    zeros = x.constant(std::move(middle));
  }
  int64_t per_scale = block;
  if (x.has_input(kGroups) || float_zeros) {  // each element gets its own scale and zero point
    const ValueId columns = x.ints(block_of_column(x, k, block));
    scales = x.node("Gather", {scales, columns}, {{"axis", int64_t{1}}});
    zeros = x.node("Gather", {zeros, columns}, {{"axis", int64_t{1}}});
    per_scale = 1;
  }
  Results operands = {b, scales};
  if (!float_zeros) operands.push_back(zeros);
  ValueId weights = x.node("DequantizeLinear", operands, {{"axis", int64_t{1}}, {"block_size", per_scale}});
  if (float_zeros) weights = x.subtract(weights, x.multiply(zeros, scales));
  // Levels 0 (unset) and 1 request the precision of f32; levels 2 to 4 that of f16, bf16 and i8.
  const int64_t level = node.int_attribute("accuracy_level", 0);
  const ValueId y =
      x.node("MatMul", {x.input(kA), x.transpose(weights, {1, 0})}, {{"exact", static_cast<int64_t>(level <= 1)}});
  return {x.has_input(kBias) ? x.add(y, x.input(kBias)) : y};
}

// ---- GatherBlockQuantized: dequantised rows of a table

Results expand_gather_block_quantized(Expansion& x) {
  enum : size_t { kData, kIndices, kScale, kZero };
  const int64_t bits = x.node().int_attribute("bits", 4), block = x.node().int_attribute("block_size", 128);
  const int64_t axis = wrap_axis(x.node().int_attribute("quantize_axis", 1), x.rank(kData));
  const bool packed = x.dtype(kData) == DType::u8 && bits < 8;
  if (packed && axis != x.rank(kData) - 1) x.fail("packed data must be quantised along its last axis");
  const auto whole = [&](size_t i, const char* what) {
    if (!packed) return x.input(i);
    std::vector<int64_t> shape = x.constant(i, what).shape();
    const int64_t count = i == kData ? shape.back() * 8 / bits : x.extent(kScale, -1),
                  rows = x.constant(i, what).elements() / shape.back();
    shape.back() = count;
    return x.constant(unpacked(x, x.constant(i, what), what, rows, count, bits).reshaped(shape));
  };
  Results operands = {whole(kData, "data"), x.input(kScale)};
  if (x.has_input(kZero)) {
    operands.push_back(whole(kZero, "zero_points"));
  } else if (x.dtype(kData) == DType::u8) {
    const Tensor& scales = x.constant(kScale, "scales");
    Tensor middle(unsigned_of(x, bits), scales.shape());
    for (int64_t i = 0; i < middle.elements(); ++i) middle.mutable_data()[i] = static_cast<uint8_t>(1 << (bits - 1));
    operands.push_back(x.constant(std::move(middle)));
  }
  const ValueId table = x.node("DequantizeLinear", operands, {{"axis", axis}, {"block_size", block}});
  return {x.node("Gather", {table, x.input(kIndices)}, {{"axis", x.node().int_attribute("gather_axis", 0)}})};
}

}  // namespace

constinit const ExpandedOp op_microsoft_MatMulNBits =
    expanded("MatMulNBits", "com.microsoft", 1, 3, 6,
             {Types::floats, Types::bytes, Types::floats, Types::any, Types::integers, Types::floats},
             expand_matmul_nbits, 1, infer_matmul_nbits);
constinit const ExpandedOp op_microsoft_GatherBlockQuantized =
    giving({Types::as_third},
           microsoft("GatherBlockQuantized", 3, 4, {Types::quantized, Types::integers, Types::floats, Types::quantized},
                     expand_gather_block_quantized));

}  // namespace gcg
