// com.microsoft: RotaryEmbedding, and MRotaryEmbedding with three positions per token (time, height, width).
#include <algorithm>
#include <numeric>

#include "compiler/ops/microsoft.h"

namespace gcg {

int64_t rotary_part(Expansion& x, size_t cosines, const Dim& head) {
  const int64_t turned = 2 * x.extent(cosines, 1);
  return head.is(turned) ? 0 : turned;
}

ValueId rotated(Expansion& x, ValueId of, ValueId places, ValueId cosines, ValueId sines, bool interleaved,
                int64_t partial) {
  return x.node("RotaryEmbedding", {of, cosines, sines, places},
                {{"interleaved", int64_t{interleaved ? 1 : 0}}, {"rotary_embedding_dim", partial}});
}

namespace {

using Results = std::vector<ValueId>;

enum : size_t { kX, kPlaces, kCosines, kSines };

/// The rotated input, of rank 3 or 4. `places` may be omitted if the angles are given for each token.
ValueId rotated_input(Expansion& x, int64_t heads, ValueId places, ValueId cosines, ValueId sines) {
  const bool packed = x.rank(kX) == 3;
  const ValueId split = packed ? heads_first(x, x.input(kX), heads) : x.input(kX);
  const Dim head = packed ? floor_div(x.shape(kX)[2], heads) : x.shape(kX)[3];
  const ValueId y = rotated(x, split, places, cosines, sines, x.node().int_attribute("interleaved", 0) != 0,
                            rotary_part(x, kCosines, head));
  return packed ? heads_last(x, y) : y;
}

int64_t heads_of(Expansion& x) {
  const int64_t heads = x.node().int_attribute("num_heads", 0);
  return x.rank(kX) == 3 && heads == 0 ? x.extent(kX, 2) / (2 * x.extent(kCosines, 1)) : heads;
}

Results expand_rotary_embedding(Expansion& x) {
  if (x.node().int_attribute("is_packed_batching", 0) != 0) x.fail("is_packed_batching is not supported");
  if (x.rank(kPlaces) > 2)
    x.fail(concat("input 1 (position_ids) has rank ", x.rank(kPlaces), ", but must have rank 0, 1 or 2"));
  ValueId places = x.cast(x.input(kPlaces), DType::i64);
  if (x.rank(kPlaces) == 1 || x.shape(kPlaces).empty()) {  // only the first position is given: every row counts from it
    const ValueId rows =
        x.node("ConstantOfShape", {x.node("Shape", {x.input(kX)}, {{"start", int64_t{0}}, {"end", int64_t{1}}})},
               {{"value", TensorRef(std::make_shared<Tensor>(Tensor::vector_i64({0})))}});
    const ValueId queries = x.extent_of(x.input(kX), x.rank(kX) - 2);
    places = x.add(x.add(x.unsqueeze(rows, 1), positions(x, queries)), x.reshape(places, {1}));
  }
  return {rotated_input(x, heads_of(x), places, x.input(kCosines), x.input(kSines))};
}

/// For each angle of a head, the stream (0: time, 1: height, 2: width) whose position selects it.
std::vector<int64_t> streams(Expansion& x) {
  const std::vector<int64_t> sections = x.node().ints_attribute("mrope_section", {});
  const int64_t half = x.extent(kCosines, 1);
  if (sections.size() != 3 || *std::min_element(sections.begin(), sections.end()) < 0 ||
      std::accumulate(sections.begin(), sections.end(), int64_t{0}) != half)
    x.fail(concat("mrope_section must have 3 numbers of at least 0, whose sum is the width ", half, " of the angles"));
  std::vector<int64_t> out(static_cast<size_t>(half), 0);
  if (x.node().int_attribute("mrope_layout", 0) != 0) {  // height and width take every third angle
    for (size_t s : {size_t{1}, size_t{2}})
      for (size_t i = s; i < std::min(out.size(), static_cast<size_t>(3 * sections[s])); i += 3)
        out[i] = static_cast<int64_t>(s);
    return out;
  }
  for (int64_t i = 0; i < half; ++i)
    out[static_cast<size_t>(i)] = i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
  return out;
}

Results expand_mrotary_embedding(Expansion& x) {
  const ValueId places = x.cast(x.input(kPlaces), DType::i64), of = x.ints(streams(x));
  const auto selected = [&](ValueId table) {                // [B, S, half]
    const ValueId all = x.node("Gather", {table, places});  // [3, B, S, half]
    ValueId out = x.element(all, 0, 0);
    for (int64_t s : {1, 2})
      out = x.node("Where", {x.node("Equal", {of, x.constant(Tensor::scalar_i64(s))}), x.element(all, 0, s), out});
    return out;
  };
  return {rotated_input(x, heads_of(x), ValueId(), selected(x.input(kCosines)), selected(x.input(kSines)))};
}

}  // namespace

constinit const ExpandedOp op_microsoft_RotaryEmbedding = giving(
    {Types::as_first},
    microsoft("RotaryEmbedding", 4, 4, {Types::floats, Types::integers, Types::floats}, expand_rotary_embedding));
constinit const ExpandedOp op_microsoft_MRotaryEmbedding = giving(
    {Types::as_first},
    microsoft("MRotaryEmbedding", 4, 4, {Types::floats, Types::integers, Types::floats}, expand_mrotary_embedding));

}  // namespace gcg
