#include "compiler/ops/op_attributes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/ops/expansion.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// One attribute in op_attributes.inc: `NAME`, or `NAME:flag` for a number that must be 0 or 1.
struct Declared {
  std::string_view name;
  bool is_flag;
};

std::vector<Declared> parse(std::string_view text) {
  constexpr std::string_view kFlag = ":flag";
  std::vector<Declared> all;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    const bool is_flag = word.ends_with(kFlag);
    all.push_back({word.substr(0, word.size() - (is_flag ? kFlag.size() : 0)), is_flag});
  }
  return all;
}

const Declared* declared(const OpDef& op, std::string_view name) {
  static const std::map<const OpDef*, std::vector<Declared>> table = {
#define GCG_ATTRIBUTES(name, names) {&op_##name, parse(#names)},
#define GCG_EXPANDED_ATTRIBUTES(name, names) {&op_##name.def, parse(#names)},
#include "compiler/ops/op_attributes.inc"
#undef GCG_EXPANDED_ATTRIBUTES
#undef GCG_ATTRIBUTES
  };
  const auto row = table.find(&op);
  if (row == table.end()) return nullptr;
  const auto found =
      std::find_if(row->second.begin(), row->second.end(), [&](const Declared& d) { return d.name == name; });
  return found == row->second.end() ? nullptr : &*found;
}

/// An attribute that no code reads because it changes no result. It may have any value, or only the value `only`.
struct Harmless {
  std::string_view domain, op, name;  // empty `op`: any operator of the domain
  std::string_view only = {};         // the only allowed value, as text; empty: any value
};

constexpr std::string_view kMicrosoft = "com.microsoft", kMl = "ai.onnx.ml";

constexpr Harmless kHarmless[] = {
    // Names the inputs that a runtime of opset 1 to 5 may overwrite.
    {"", "", "consumed_inputs"},
    // Rounding to f8e8m0; that type is not supported.
    {"", "Cast", "round_mode"},
    {"", "CastLike", "round_mode"},
    // States whether Y is an output. The node's list of outputs shows that already.
    {"", "GRU", "output_sequence"},
    {"", "LSTM", "output_sequence"},
    {"", "RNN", "output_sequence"},
    // Statistics and steps are always computed in f32, or in f64 for f64 inputs.
    {"", "GroupNormalization", "stash_type"},
    {"", "Range", "stash_type"},
    // States whether the results are sorted; they always are.
    {"", "TopK", "sorted"},
    // Says how an implementation splits the sequence; the result is the same.
    {"", "LinearAttention", "chunk_size"},
    // The type of an Optional without an element; its readers infer it.
    {"", "Optional", "type"},
    // Statistics from training the trees.
    {kMl, "TreeEnsemble", "nodes_hitrates"},
    {kMl, "TreeEnsembleClassifier", "nodes_hitrates"},
    {kMl, "TreeEnsembleClassifier", "nodes_hitrates_as_tensor"},
    {kMl, "TreeEnsembleRegressor", "nodes_hitrates"},
    {kMl, "TreeEnsembleRegressor", "nodes_hitrates_as_tensor"},
    // The training method, one class against the rest or all classes at once; the scores are the same.
    {kMl, "LinearClassifier", "multi_class"},
    // RotaryEmbedding takes this number from its tables of angles, and Attention does not rotate.
    {kMicrosoft, "Attention", "rotary_embedding_dim"},
    {kMicrosoft, "RotaryEmbedding", "rotary_embedding_dim"},
    // A parameter of Selu; FusedGemm does not support that activation here.
    {kMicrosoft, "FusedGemm", "activation_gamma"},
    // The type of an output that only exists if the mask is absent.
    {kMicrosoft, "EmbedLayerNormalization", "mask_index_type"},
    // Says how precise onnxruntime's CPU kernels are at least; products are always exact here.
    {kMicrosoft, "QMoE", "accuracy_level"},
    // Says how an implementation splits the sequence; the result is the same.
    {kMicrosoft, "LinearAttention", "chunk_size"},
    // MRotaryEmbedding takes this number from its tables of angles.
    {kMicrosoft, "MRotaryEmbedding", "rotary_embedding_dim"},
    // Attributes of which only one value is supported.
    {kMicrosoft, "Attention", "past_present_share_buffer", "0"},
    {kMicrosoft, "CausalConvWithState", "input_channel_offset", "0"},
    {kMicrosoft, "CausalConvWithState", "input_channels", "0"},
    {kMicrosoft, "CausalConvWithState", "ndim", "1"},
    {kMicrosoft, "CausalConvWithState", "state_channels_last", "-1"},
    {kMicrosoft, "CausalConvWithState", "state_length", "0"},
    {kMicrosoft, "CausalConvWithState", "state_update_capacity", "0"},
    {kMicrosoft, "CausalConvWithState", "state_window", "0"},
    {kMicrosoft, "LinearAttention", "state_window", "0"},
    {kMicrosoft, "MRotaryEmbedding", "is_packed_batching", "0"},
    {kMicrosoft, "MRotaryEmbedding", "scale", "1"},
    {kMicrosoft, "MatMulNBits", "weight_prepacked", "0"},
    {kMicrosoft, "QAttention", "past_present_share_buffer", "0"},
    {kMicrosoft, "QMoE", "quant_type", "int"},
    {kMicrosoft, "RotaryEmbedding", "scale", "1"},
};

/// The text form for `Harmless::only`.
std::string text_of(const Attribute& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return concat(*i);
  if (const auto* f = std::get_if<double>(&value)) return concat(*f);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return "a value of another type";
}

}  // namespace

std::string why_not_attribute(const OpDef& op, const std::string& name, const Attribute* value) {
  if (const Declared* d = declared(op, name)) {
    const auto* number = value != nullptr ? std::get_if<int64_t>(value) : nullptr;
    if (!d->is_flag || number == nullptr || *number == 0 || *number == 1) return {};
    return concat("attribute '", name, "' is ", *number, ", it must be 0 or 1");
  }
  for (const Harmless& h : kHarmless) {
    if (h.domain != op.domain || (!h.op.empty() && h.op != op.name) || h.name != name) continue;
    if (h.only.empty() || (value != nullptr && text_of(*value) == h.only)) return {};
    return concat("attribute '", name, "' is ", value != nullptr ? text_of(*value) : "a value of another type",
                  "; only ", h.only, " is supported");
  }
  return concat("attribute '", name, "' is not supported: ", op.name, " has no such attribute");
}

}  // namespace gcg
