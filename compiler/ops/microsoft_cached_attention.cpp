// com.microsoft: RotaryEmbedding and GroupQueryAttention, used by decoders with a cache of keys and values.
#include <limits>

#include "compiler/ops/microsoft.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

/// Rotates x [B, heads, sequence, size] by the angles of the positions `places` [B, sequence].
ValueId rotated(Expansion& x, ValueId of, ValueId places, ValueId cosines, ValueId sines, bool interleaved,
                int64_t partial) {
  return x.node("RotaryEmbedding", {of, cosines, sines, places},
                {{"interleaved", int64_t{interleaved ? 1 : 0}}, {"rotary_embedding_dim", partial}});
}

/// The number of leading elements of a head that are rotated: those for which the cache has angles. 0: all `head`
/// elements.
int64_t turning(Expansion& x, size_t cosines, const Dim& head) {
  const int64_t turned = 2 * x.extent(cosines, 1);
  return head.is(turned) ? 0 : turned;
}

// ---- RotaryEmbedding

Results expand_rotary_embedding(Expansion& x) {
  enum : size_t { kX, kPlaces, kCosines, kSines };
  if (x.node().int_attribute("is_packed_batching", 0) != 0) x.fail("is_packed_batching is not supported");
  const bool packed = x.rank(kX) == 3;
  int64_t heads = x.node().int_attribute("num_heads", 0);
  if (packed && heads == 0) heads = x.extent(kX, 2) / (2 * x.extent(kCosines, 1));
  const ValueId split = packed ? heads_first(x, x.input(kX), heads) : x.input(kX);
  ValueId places = x.cast(x.input(kPlaces), DType::i64);
  if (x.rank(kPlaces) == 1 || x.shape(kPlaces).empty()) {  // only the first position is given: every row counts from it
    const ValueId rows =
        x.node("ConstantOfShape", {x.node("Shape", {x.input(kX)}, {{"start", int64_t{0}}, {"end", int64_t{1}}})},
               {{"value", TensorRef(std::make_shared<Tensor>(Tensor::vector_i64({0})))}});
    places = x.add(x.add(x.unsqueeze(rows, 1), positions(x, x.extent_of(split, 2))), x.reshape(places, {1}));
  }
  const Dim head = packed ? floor_div(x.shape(kX)[2], heads) : x.shape(kX)[3];
  const ValueId y = rotated(x, split, places, x.input(kCosines), x.input(kSines),
                            x.node().int_attribute("interleaved", 0) != 0, turning(x, kCosines, head));
  return {packed ? heads_last(x, y) : y};
}

// ---- GroupQueryAttention: the cache grows if it has no room for the new keys and values

enum : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastKeys,
  kTotal,
  kCosines,
  kSines,
  kPlaces,
  kBias,
  kSink
};

class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(Expansion& x)
      : x_(x), heads_(x.node().int_attribute("num_heads", 0)), groups_(x.node().int_attribute("kv_num_heads", 0)) {
    if (heads_ < 1 || groups_ < 1) x.fail("num_heads and kv_num_heads must be at least 1");
    for (size_t i = kSink; i < x.input_count(); ++i)
      if (x.has_input(i)) x.fail(concat("input ", i, " (a head sink or quantised caches) is not supported"));
    if (x.node().int_attribute("smooth_softmax", 0) > 0) x.fail("smooth_softmax is not supported");
  }

  Results run() {
    take_heads();
    queries_ = x_.extent_of(q_, 2);
    const ValueId zero = x_.constant(Tensor::scalar_i64(0)), one = x_.constant(Tensor::scalar_i64(1));
    valid_ = x_.add(x_.reshape(x_.cast(x_.input(kLastKeys), DType::i64), {-1}), one);
    // The past lengths, [B]. A prompt that is shorter than the longest one gives a negative difference; it has no past.
    past_ = x_.node("Max", {x_.subtract(valid_, queries_), zero});
    if (appends()) past_ = as_long_as_cache(past_);
    if (x_.node().int_attribute("do_rotary", 0) != 0) rotate();
    const ValueId key = grown(kPastKey, k_), value = grown(kPastValue, v_);
    const Results y = x_.outputs(op("Attention"), {q_, key, value, allowed(key)}, 1, attributes());
    return {heads_last(x_, y[0]), key, value};
  }

 private:
  void take_heads() {
    if (x_.has_input(kKey)) {
      head_ = floor_div(x_.shape(kQuery)[2], heads_);
      q_ = heads_first(x_, x_.input(kQuery), heads_);
      k_ = heads_first(x_, x_.input(kKey), groups_);
      v_ = heads_first(x_, x_.input(kValue), groups_);
      return;
    }
    const int64_t head = x_.extent(kQuery, 2) / (heads_ + 2 * groups_), k = heads_ * head, v = k + groups_ * head;
    head_ = head;
    q_ = heads_first(x_, x_.slice(x_.input(kQuery), 2, 0, k), heads_);
    k_ = heads_first(x_, x_.slice(x_.input(kQuery), 2, k, v), groups_);
    v_ = heads_first(x_, x_.slice(x_.input(kQuery), 2, v, std::numeric_limits<int64_t>::max()), groups_);
  }

  /// The positions of the new queries and keys, [B, queries].
  ValueId places() { return x_.add(x_.unsqueeze(past_, 1), positions(x_, queries_)); }

  void rotate() {
    const ValueId at = x_.has_input(kPlaces) ? x_.cast(x_.input(kPlaces), DType::i64) : places();
    const bool interleaved = x_.node().int_attribute("rotary_interleaved", 0) != 0;
    for (ValueId* v : {&q_, &k_})
      *v = rotated(x_, *v, at, x_.input(kCosines), x_.input(kSines), interleaved, turning(x_, kCosines, head_));
  }

  /// True if the caches are states whose rows are the tokens of earlier runs (compiler/passes/append_caches.h).
  bool appends() const { return x_.node().has_attribute("gart.appends"); }

  /// Fails the run unless all of these lengths equal the cache's length `rows`: gathers element rows + |length - rows|
  /// of the table 0, 1, ..., rows. If a length differs, this index is beyond the table's end.
  ValueId as_long_as_cache(ValueId lengths) {
    const ValueId rows = x_.extent_of(x_.input(kPastKey), 2);
    const ValueId one = x_.constant(Tensor::scalar_i64(1));
    const ValueId index = x_.add(x_.node("Abs", {x_.subtract(lengths, rows)}), rows);
    return x_.node("Gather", {positions(x_, x_.add(rows, one)), index});
  }

  /// Writes the new rows where each sample's past ends. The result is as long as all valid rows, or as the past if that
  /// has more room; then the cache keeps its size.
  ValueId grown(size_t past, ValueId added) {
    if (!x_.has_input(past)) return added;
    if (appends()) return x_.concat({x_.input(past), added}, 2);
    const ValueId room = x_.reshape(x_.extent_of(x_.input(past), 2), {1});
    const ValueId total = x_.reshape(x_.cast(x_.input(kTotal), DType::i64), {1});
    const ValueId missing = x_.node("Max", {x_.subtract(total, room), x_.ints({0})});
    const ValueId all =
        x_.node("Pad", {x_.input(past), x_.concat({x_.ints({0}), missing}, 0), ValueId(), x_.ints({2})});
    return x_.node("TensorScatter", {all, added, past_}, {{"axis", int64_t{2}}});
  }

  /// The keys up to each query's position, within its window. The result is bool, or with a bias the addend of the
  /// scores.
  ValueId allowed(ValueId key) {
    const ValueId here = x_.node("Unsqueeze", {places(), x_.ints({1, 3})}), there = positions(x_, x_.extent_of(key, 2));
    ValueId may = x_.node("LessOrEqual", {there, here});
    if (const int64_t window = x_.node().int_attribute("local_window_size", -1); window > 0)
      may = x_.node("And",
                    {may, x_.node("Greater", {there, x_.subtract(here, x_.constant(Tensor::scalar_i64(window)))})});
    if (!x_.has_input(kBias)) return may;
    return x_.node("Where",
                   {may, x_.input(kBias), x_.scalar(x_.dtype(kBias), -std::numeric_limits<double>::infinity())});
  }

  std::map<std::string, Attribute> attributes() {
    auto out = x_.attributes({"softcap"});
    if (const double scale = x_.node().float_attribute("scale", 0); scale != 0) out["scale"] = scale;
    return out;
  }

  Expansion& x_;
  int64_t heads_, groups_;
  Dim head_;
  ValueId q_, k_, v_, queries_, valid_, past_;
};

Results expand_group_query_attention(Expansion& x) { return GroupQueryAttention(x).run(); }

}  // namespace

constinit const ExpandedOp op_microsoft_RotaryEmbedding = giving(
    {Types::as_first},
    microsoft("RotaryEmbedding", 4, 4, {Types::floats, Types::integers, Types::floats}, expand_rotary_embedding));
constinit const ExpandedOp op_microsoft_GroupQueryAttention =
    microsoft("GroupQueryAttention", 7, 14,
              {Types::floats, Types::as_first, Types::as_first, Types::as_first, Types::as_first, Types::integers,
               Types::integers, Types::floats, Types::floats, Types::integers, Types::floats},
              expand_group_query_attention, 4);

}  // namespace gcg
