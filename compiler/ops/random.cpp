// RandomUniform(Like), RandomNormal(Like), Bernoulli and Multinomial, all built on gart.RandomBits.
//
// The numbers follow from the node's `seed` or, without one, from its name. Two nodes with the same seed draw the same
// numbers. Every run draws the same numbers, except in training, where gart.RandomBits reads a state
// (compiler/train/random_state.h).
#include "compiler/ops/random.h"

#include <cmath>
#include <numbers>

#include "compiler/ops/expansion.h"
#include "compiler/ops/index.h"
#include "compiler/ops/op_support.h"

namespace gcg {

namespace {

constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

uint32_t low_word(int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x)); }
uint32_t high_word(int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); }

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t first = kMultipliers[0] * c[0], second = kMultipliers[1] * c[2];
    c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(first)};
    for (size_t i = 0; i < 2; ++i) key[i] += kKeySteps[i];
  }
  return c;
}

int64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

namespace {

// ---- gart.RandomBits: word `word` of block (element, offset) under the key `seed`, for each element of the input's
// shape. An optional input, the i64 vector {seed, offset}, is added to the attributes of the same names.

void infer_random_bits(InferContext& ctx) {
  if (ctx.has_input(1)) {
    if (ctx.dtype(1) != DType::i64 || ctx.rank(1) != 1) ctx.fail("the seed and the offset must be i64[2]");
    ctx.require_equal(ctx.shape(1)[0], Dim(2), "the numbers of input 1, a seed and an offset,");
  }
  ctx.set_output(0, DType::u32, ctx.shape(0));
}

Expr word(uint32_t value) { return constant_int(DType::u32, static_cast<int64_t>(value)); }

/// The two words of the attribute plus element `i` of the state.
std::array<Expr, 2> words(LowerContext& ctx, const char* attribute, int64_t i) {
  const int64_t fixed = ctx.node().int_attribute(attribute, 0);
  if (ctx.node().inputs.size() < 2) return {word(low_word(fixed)), word(high_word(fixed))};
  const Expr sum = cast(DType::u64, ctx.input(1, {index(i)})) + constant_int(DType::u64, fixed);
  return {cast(DType::u32, sum), cast(DType::u32, binary(BinaryOp::shift_right, sum, constant_int(DType::u64, 32)))};
}

Expr lower_random_bits(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto high = [](const Expr& wide) {
    return cast(DType::u32, binary(BinaryOp::shift_right, wide, constant_int(DType::u64, 32)));
  };
  const auto product = [](const Expr& c, uint64_t by) {
    return cast(DType::u64, c) * constant_int(DType::u64, static_cast<int64_t>(by));
  };
  const auto mixed = [](const Expr& a, const Expr& b, const Expr& key) {
    return binary(BinaryOp::bit_xor, binary(BinaryOp::bit_xor, a, b), key);
  };
  const Expr wide = cast(DType::u64, linearize(at, ctx.input_shape(0)));
  const std::array<Expr, 2> offset = words(ctx, "offset", 1);
  std::array<Expr, 4> c = {cast(DType::u32, wide), high(wide), offset[0], offset[1]};
  std::array<Expr, 2> keys = words(ctx, "seed", 0);
  for (int round = 0; round < kRounds; ++round) {
    const Expr first = product(c[0], kMultipliers[0]), second = product(c[2], kMultipliers[1]);
    c = {mixed(high(second), c[1], keys[0]), cast(DType::u32, second), mixed(high(first), c[3], keys[1]),
         cast(DType::u32, first)};
    for (size_t i = 0; i < 2; ++i) keys[i] = keys[i] + word(kKeySteps[i]);
  }
  return c[static_cast<size_t>(ctx.node().int_attribute("word", 0))];
}

std::vector<Tensor> reference_random_bits(ReferenceContext& ctx) {
  const Tensor* state = ctx.node().inputs.size() > 1 ? ctx.input(1) : nullptr;
  const auto sum = [&](const char* attribute, int64_t i) {
    const auto fixed = static_cast<uint64_t>(ctx.node().int_attribute(attribute, 0));
    return static_cast<int64_t>(fixed + (state != nullptr ? static_cast<uint64_t>(state->at_int(i)) : 0));
  };
  const int64_t seed = sum("seed", 0), offset = sum("offset", 1);
  Tensor y(DType::u32, ctx.input(0)->shape());
  for (int64_t i = 0; i < y.elements(); ++i)
    y.set_int(i, philox({low_word(i), high_word(i), low_word(offset), high_word(offset)},
                        {low_word(seed), high_word(seed)})[static_cast<size_t>(ctx.node().int_attribute("word", 0))]);
  return {std::move(y)};
}

// ---- uniform and normal numbers

using Results = std::vector<ValueId>;

/// Random numbers for the elements of `like`.
class Generator {
 public:
  Generator(Expansion& x, ValueId like) : x_(x), like_(like) {
    if (x.node().has_attribute("seed")) {
      const auto seed = static_cast<float>(x.node().float_attribute("seed", 0));
      uint32_t bits;
      std::memcpy(&bits, &seed, sizeof bits);
      attributes_["seed"] = static_cast<int64_t>(bits);
    } else {
      attributes_["offset"] = hash_of(x.node().name);
    }
  }

  /// Numbers in [0, 1): each multiple of 2^-24 (f64: 2^-53) is equally likely. `draw` 0 and 1 are independent.
  ValueId uniform(DType dtype, int64_t draw) {
    if (dtype == DType::f64)
      return x_.add(x_.multiply(x_.cast(bits(2 * draw), dtype), x_.scalar(dtype, 0x1p-32)),
                    x_.multiply(x_.cast(shifted(bits(2 * draw + 1), 11), dtype), x_.scalar(dtype, 0x1p-53)));
    return x_.multiply(x_.cast(x_.cast(shifted(bits(draw), 8), DType::i32), dtype), x_.scalar(dtype, 0x1p-24));
  }
  /// Box-Muller: sqrt(-2 log u) cos(2 pi v), where u is in (0, 1].
  ValueId normal(DType dtype) {
    const ValueId u = x_.subtract(x_.scalar(dtype, 1), uniform(dtype, 0)), v = uniform(dtype, 1);
    const ValueId radius = x_.node("Sqrt", {x_.multiply(x_.node("Log", {u}), x_.scalar(dtype, -2))});
    return x_.multiply(radius, x_.node("Cos", {x_.multiply(v, x_.scalar(dtype, 2 * std::numbers::pi))}));
  }

 private:
  ValueId bits(int64_t which) {
    attributes_["word"] = which;
    return x_.outputs(op_gart_RandomBits, {like_}, 1, attributes_)[0];
  }
  ValueId shifted(ValueId of, int64_t by) {
    return x_.node("BitShift", {of, x_.constant(Tensor::from<uint32_t>(DType::u32, {}, {static_cast<uint32_t>(by)}))},
                   {{"direction", std::string("RIGHT")}});
  }

  Expansion& x_;
  ValueId like_;
  std::map<std::string, Attribute> attributes_;
};

DType wide(DType dtype) { return dtype == DType::f64 ? dtype : DType::f32; }

DType asked_dtype(const Expansion& x, DType otherwise) {
  const int64_t code = x.node().int_attribute("dtype", 0);
  if (code == 0) return otherwise;
  const auto dtype = dtype_from_onnx(static_cast<int32_t>(code));
  if (!dtype) x.fail(concat("element type ", code, " (attribute 'dtype') is not supported"));
  return *dtype;
}
DType asked_float(const Expansion& x, DType otherwise) {
  const DType dtype = asked_dtype(x, otherwise);
  if (!is_float(dtype)) x.fail(concat("the results cannot be ", name_of(dtype)));
  return dtype;
}

/// from + by * numbers, in the requested type.
ValueId scaled(Expansion& x, ValueId numbers, DType dtype, double from, double by) {
  const DType computed = wide(dtype);
  if (by != 1) numbers = x.multiply(numbers, x.scalar(computed, by));
  if (from != 0) numbers = x.add(numbers, x.scalar(computed, from));
  return dtype == computed ? numbers : x.cast(numbers, dtype);
}
ValueId uniform(Expansion& x, ValueId like, DType dtype) {
  const double low = x.node().float_attribute("low", 0), high = x.node().float_attribute("high", 1);
  return scaled(x, Generator(x, like).uniform(wide(dtype), 0), dtype, low, high - low);
}
ValueId normal(Expansion& x, ValueId like, DType dtype) {
  return scaled(x, Generator(x, like).normal(wide(dtype)), dtype, x.node().float_attribute("mean", 0),
                x.node().float_attribute("scale", 1));
}
/// A tensor with the extents in attribute `shape`.
ValueId of_shape(Expansion& x) {
  if (!x.node().has_attribute("shape")) x.fail("attribute shape is missing");
  return x.node("ConstantOfShape", {x.ints(x.node().ints_attribute("shape"))});
}

Results expand_uniform(Expansion& x) { return {uniform(x, of_shape(x), asked_float(x, DType::f32))}; }
Results expand_normal(Expansion& x) { return {normal(x, of_shape(x), asked_float(x, DType::f32))}; }
Results expand_uniform_like(Expansion& x) { return {uniform(x, x.input(0), asked_float(x, x.dtype(0)))}; }
Results expand_normal_like(Expansion& x) { return {normal(x, x.input(0), asked_float(x, x.dtype(0)))}; }

Results expand_bernoulli(Expansion& x) {
  const DType computed = wide(x.dtype(0));
  const ValueId u = Generator(x, x.input(0)).uniform(computed, 0);
  return {x.cast(x.node("Less", {u, x.cast(x.input(0), computed)}), asked_dtype(x, x.dtype(0)))};
}

/// The first class whose cumulative probability exceeds a uniform number.
Results expand_multinomial(Expansion& x) {
  const DType computed = wide(x.dtype(0)), result = asked_dtype(x, DType::i32);
  if (x.rank(0) != 2) x.fail(concat("the input has ", x.rank(0), " dimensions, not 2"));
  const int64_t samples = x.node().int_attribute("sample_size", 1);
  const ValueId batch = x.node("Shape", {x.input(0)}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  const ValueId u =
      Generator(x, x.node("ConstantOfShape", {x.concat({batch, x.ints({samples})}, 0)})).uniform(computed, 0);
  const ValueId p = x.node("Softmax", {x.cast(x.input(0), computed)}, {{"axis", int64_t{-1}}});
  const ValueId below = x.node("CumSum", {p, x.constant(Tensor::scalar_i64(1))});
  const ValueId passed = x.node("LessOrEqual", {x.unsqueeze(below, 1), x.unsqueeze(u, 2)});
  const ValueId place = x.node("ReduceSum", {x.cast(passed, DType::i64), x.ints({2})}, {{"keepdims", int64_t{0}}});
  const ValueId last = x.subtract(x.element(x.node("Shape", {x.input(0)}), 0, 1), x.constant(Tensor::scalar_i64(1)));
  return {x.cast(x.node("Min", {place, last}), result)};
}

}  // namespace

constinit const OpDef op_gart_RandomBits{.name = "RandomBits",
                                         .domain = "gart",
                                         .min_inputs = 1,
                                         .max_inputs = 2,
                                         .kind = OpKind::pointwise,
                                         .infer = infer_random_bits,
                                         .lower = lower_random_bits,
                                         .reference = reference_random_bits};
constinit const ExpandedOp op_RandomUniform =
    giving({Types::floats}, expanded("RandomUniform", "", 1, 0, 0, {Types::any}, expand_uniform));
constinit const ExpandedOp op_RandomNormal =
    giving({Types::floats}, expanded("RandomNormal", "", 1, 0, 0, {Types::any}, expand_normal));
constinit const ExpandedOp op_RandomUniformLike =
    giving({Types::floats}, expanded("RandomUniformLike", "", 1, 1, 1, {Types::any}, expand_uniform_like));
constinit const ExpandedOp op_RandomNormalLike =
    giving({Types::floats}, expanded("RandomNormalLike", "", 1, 1, 1, {Types::any}, expand_normal_like));
constinit const ExpandedOp op_Bernoulli =
    giving({Types::numbers_and_bool}, expanded("Bernoulli", "", 15, 1, 1, {Types::floats}, expand_bernoulli));
constinit const ExpandedOp op_Multinomial =
    giving({Types::integers}, expanded("Multinomial", "", 7, 1, 1, {Types::floats}, expand_multinomial));

}  // namespace gcg
