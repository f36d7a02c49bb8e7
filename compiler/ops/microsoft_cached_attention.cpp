// com.microsoft: GroupQueryAttention, used by decoders with a cache of keys and values. The cache grows if it has no
// room for the new keys and values.
#include <limits>

#include "compiler/ops/microsoft.h"
#include "compiler/ops/window_cache.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

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
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryCounts
};

/// The form in which a cache holds keys or values: their own type, or integers of 8 or 4 bits with a scale.
class QuantizedCache {
 public:
  QuantizedCache(Expansion& x, size_t scale, const char* type) : x_(x) {
    const std::string kind = x.node().string_attribute(type, "NONE");
    if (kind != "NONE" && kind != "PER_TENSOR" && kind != "PER_CHANNEL")
      x.fail(concat("attribute ", type, " is '", kind, "', it must be 'NONE', 'PER_TENSOR' or 'PER_CHANNEL'"));
    if ((kind != "NONE") != x.has_input(scale))
      x.fail(concat("attribute ", type, " is '", kind, "', so a scale (input ", scale,
                    kind == "NONE" ? ") must be omitted" : ") must be given"));
    bits_ = kind == "NONE" ? 0 : x.node().int_attribute("kv_cache_bit_width", 8);
    if (kind != "NONE" && bits_ != 8 && bits_ != 4)
      x.fail(concat("kv_cache_bit_width is ", bits_, ", it must be 8 or 4"));
    stored_ = bits_ == 0 ? x.dtype(kQuery) : bits_ == 8 ? DType::i8 : DType::u8;
    for (const size_t past : {kPastKey, kPastValue})
      if (x.has_input(past) && x.dtype(past) != stored_)
        x.fail(concat("input ", past, " is ", name_of(x.dtype(past)), ", it must be ", name_of(stored_)));
    if (bits_ == 0) return;
    scale_ = x.cast(x.input(scale), DType::f32);
    if (kind == "PER_TENSOR") scale_ = x.reshape(scale_, {1});
  }

  /// New keys or values, as the cache holds them. A byte has an even element in its lower 4 bits, and the next element
  /// in its upper ones.
  ValueId stored(ValueId v) const {
    if (bits_ == 0) return v;
    const double most = bits_ == 8 ? 127 : 7;
    const ValueId rounded = x_.node("Round", {x_.node("Div", {x_.cast(v, DType::f32), scale_})});
    const ValueId number = x_.node("Clip", {rounded, x_.scalar(DType::f32, -most - 1), x_.scalar(DType::f32, most)});
    if (bits_ == 8) return x_.cast(number, DType::i8);
    const ValueId pairs = x_.cast(x_.reshape(x_.add(number, x_.scalar(DType::f32, 8)), {0, 0, 0, -1, 2}), DType::u8);
    return x_.add(x_.element(pairs, 4, 0), x_.multiply(x_.element(pairs, 4, 1), x_.scalar(DType::u8, 16)));
  }

  ValueId loaded(ValueId cache) const {
    if (bits_ == 0) return cache;
    ValueId number = x_.cast(cache, DType::f32);
    if (bits_ == 4) {
      const ValueId low = x_.node("BitwiseAnd", {cache, x_.scalar(DType::u8, 15)}),
                    high = x_.node("Div", {cache, x_.scalar(DType::u8, 16)});
      const ValueId pairs = x_.concat({x_.unsqueeze(low, 4), x_.unsqueeze(high, 4)}, 4);
      number = x_.subtract(x_.cast(x_.reshape(pairs, {0, 0, 0, -1}), DType::f32), x_.scalar(DType::f32, 8));
    }
    return x_.cast(x_.multiply(number, scale_), x_.dtype(kQuery));
  }

 private:
  Expansion& x_;
  int64_t bits_ = 0;  // 0: not quantised
  DType stored_ = DType::f32;
  ValueId scale_;
};

class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(Expansion& x)
      : x_(x), heads_(x.node().int_attribute("num_heads", 0)), groups_(x.node().int_attribute("kv_num_heads", 0)) {
    if (heads_ < 1 || groups_ < 1) x.fail("num_heads and kv_num_heads must be at least 1");
    if (x.has_input(kQueryNorm) != x.has_input(kKeyNorm))
      x.fail("q_norm_weight and k_norm_weight (inputs 14 and 15) must be given together");
    check_window();
  }

  Results run() {
    take_heads();
    queries_ = x_.extent_of(q_, 2);
    const ValueId zero = number(0);
    valid_ = x_.add(x_.reshape(x_.cast(x_.input(kLastKeys), DType::i64), {-1}), number(1));
    // The past lengths, [B]. A prompt that is shorter than the longest one gives a negative difference; it has no past.
    past_ = x_.has_input(kQueryCounts) ? x_.subtract(valid_, x_.cast(x_.input(kQueryCounts), DType::i64))
                                       : x_.node("Max", {x_.subtract(valid_, queries_), zero});
    if (appends()) past_ = as_long_as_cache(past_);
    if (x_.node().int_attribute("do_rotary", 0) != 0) rotate();
    const QuantizedCache keys(x_, kKeyScale, "k_quant_type"), values(x_, kValueScale, "v_quant_type");
    Results caches = {keys.stored(k_), values.stored(v_)}, read;
    if (keeps_window()) {
      const WindowCache cache(x_, x_.input(kPastKey), window(), past_, valid_, queries_);
      for (size_t i = 0; i < 2; ++i) {
        read.push_back(cache.joined(x_.input(kPastKey + i), caches[i]));
        caches[i] = cache.kept(read[i]);
      }
      there_ = x_.node("Unsqueeze", {cache.places(), x_.ints({1, 2})});
    } else {
      for (size_t i = 0; i < 2; ++i) caches[i] = grown(kPastKey + i, caches[i]);
      read = caches;
      there_ = positions(x_, x_.extent_of(read[0], 2));
    }
    const Results y = attention(keys.loaded(read[0]), values.loaded(read[1]));
    return {heads_last(x_, y[0]), caches[0], caches[1], y[1]};
  }

 private:
  ValueId number(int64_t value) { return x_.constant(Tensor::scalar_i64(value)); }
  int64_t window() const { return x_.node().int_attribute("local_window_size", -1); }
  bool is_causal() const { return x_.node().int_attribute("causal", 1) != 0; }
  bool keeps_window() const { return x_.node().int_attribute("sliding_window_cache", 0) != 0; }

  void check_window() {
    if (!is_causal() && window() > 0)
      x_.fail(concat("local_window_size is ", window(), ", but causal is 0; then it must be -1"));
    if (!keeps_window()) return;
    if (window() < 1)
      x_.fail(concat("sliding_window_cache needs local_window_size to be at least 1, it is ", window()));
    if (!x_.has_input(kPastKey) || !x_.has_input(kPastValue))
      x_.fail("sliding_window_cache needs past_key and past_value");
    if (x_.has_input(kBias)) x_.fail("attention_bias (input 10) is not supported with sliding_window_cache");
    const Dim& rows = x_.shape(kPastKey)[2];
    if (rows.is_constant() && rows.constant() < window())
      x_.fail(concat("past_key has ", rows.str(), " rows, fewer than local_window_size, which is ", window()));
  }

  void take_heads() {
    split_heads();
    if (!x_.has_input(kQueryNorm)) return;
    const double epsilon = x_.node().float_attribute("qk_norm_epsilon", 1e-6);
    const auto normed = [&](ValueId v, size_t weight, const char* own) {
      return x_.node("RMSNormalization", {v, x_.input(weight)},
                     {{"axis", int64_t{-1}}, {"epsilon", x_.node().float_attribute(own, epsilon)}});
    };
    q_ = normed(q_, kQueryNorm, "q_norm_epsilon");
    k_ = normed(k_, kKeyNorm, "k_norm_epsilon");
  }

  void split_heads() {
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
      *v = rotated(x_, *v, at, x_.input(kCosines), x_.input(kSines), interleaved, rotary_part(x_, kCosines, head_));
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

  /// The keys that each query reads: those up to its position, within its window, or all if it is not causal. The
  /// result is bool, or with a bias the addend of the scores.
  ValueId allowed() {
    const ValueId here = x_.node("Unsqueeze", {places(), x_.ints({1, 3})});
    ValueId may = is_causal() ? x_.node("LessOrEqual", {there_, here})
                              : x_.node("Less", {there_, x_.node("Unsqueeze", {valid_, x_.ints({1, 2, 3})})});
    if (window() > 0) may = x_.node("And", {may, x_.node("Greater", {there_, x_.subtract(here, number(window()))})});
    if (!x_.has_input(kBias)) return may;
    return x_.node("Where",
                   {may, x_.input(kBias), x_.scalar(x_.dtype(kBias), -std::numeric_limits<double>::infinity())});
  }

  /// The result [B, heads, queries, size], and the scores that qk_output selects.
  Results attention(ValueId key, ValueId value) {
    const int64_t wanted = x_.node().int_attribute("qk_output", 0);  // 1: before the softmax, 2: after it
    if (wanted < 0 || wanted > 2) x_.fail(concat("qk_output is ", wanted, ", it must be 0, 1 or 2"));
    const bool has_sink = x_.has_input(kSink) || x_.node().int_attribute("smooth_softmax", 0) > 0;
    const bool raw = has_sink || wanted == 1;
    auto options = attributes();
    if (has_sink || wanted != 0) options["qk_matmul_output_mode"] = int64_t{raw ? 2 : 3};
    Results y = x_.outputs(op("Attention"), {q_, key, value, allowed()}, has_sink || wanted != 0 ? 4 : 1, options);
    y = {y[0], y.size() > 1 ? y[3] : ValueId()};
    if (!has_sink) return y;
    const ValueId p = with_sink(y[1]);
    return {product(p, value), wanted == 2 ? p : y[1]};
  }

  /// The softmax of the scores and of one more score per head, the sink, whose value is zero.
  ValueId with_sink(ValueId scores) {
    const ValueId sink =
        x_.has_input(kSink) ? x_.reshape(x_.input(kSink), {1, -1, 1, 1}) : x_.scalar(x_.dtype(kQuery), 0);
    const ValueId most = x_.node("Max", {x_.node("ReduceMax", {scores, x_.ints({-1})}), sink});
    const ValueId e = x_.node("Exp", {x_.subtract(scores, most)});
    const ValueId sum = x_.node("ReduceSum", {e, x_.ints({-1})});
    return x_.node("Div", {e, x_.add(sum, x_.node("Exp", {x_.subtract(sink, most)}))});
  }

  /// p [B, heads, queries, keys] times the values of each head's group.
  ValueId product(ValueId p, ValueId value) {
    return x_.reshape(x_.node("MatMul", {x_.reshape(p, {0, groups_, -1, 0}), value}), {0, heads_, -1, 0});
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
  ValueId there_;  // the positions of the keys
};

Results expand_group_query_attention(Expansion& x) { return GroupQueryAttention(x).run(); }

}  // namespace

constinit const ExpandedOp op_microsoft_GroupQueryAttention =
    giving({Types::as_first, Types::any},
           microsoft("GroupQueryAttention", 7, 17,
                     {Types::floats, Types::as_first, Types::as_first, Types::any, Types::any, Types::integers,
                      Types::integers, Types::floats, Types::floats, Types::integers, Types::floats, Types::any},
                     expand_group_query_attention, 4));

}  // namespace gcg
