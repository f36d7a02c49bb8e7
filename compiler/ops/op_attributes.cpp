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

/// What op_attributes.inc says of one attribute: `NAME`, or `NAME:flag` for a number that must be 0 or 1.
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

/// An attribute that nothing reads since it changes no result, whatever it is or where it is `only` this.
struct Harmless {
  std::string_view domain, op, name;  // any operator of the domain where `op` is empty
  std::string_view only = {};         // as text; any value where empty
};

constexpr std::string_view kMicrosoft = "com.microsoft", kMl = "ai.onnx.ml";

constexpr Harmless kHarmless[] = {
    // Which inputs a runtime of opset 1 to 5 might overwrite.
    {"", "", "consumed_inputs"},
    // Rounding to f8e8m0, a type that is not supported.
    {"", "Cast", "round_mode"},
    {"", "CastLike", "round_mode"},
    // Is Y an output? The node's outputs say so themselves.
    {"", "GRU", "output_sequence"},
    {"", "LSTM", "output_sequence"},
    {"", "RNN", "output_sequence"},
    // Statistics and steps are computed in f32, or f64 for f64, whatever type is asked for.
    {"", "GroupNormalization", "stash_type"},
    {"", "Range", "stash_type"},
    // Are the results in order? They always are.
    {"", "TopK", "sorted"},
    // How an implementation cuts the sequence: the result is the same.
    {"", "LinearAttention", "chunk_size"},
    // The type of an Optional without an element; its readers infer it.
    {"", "Optional", "type"},
    // A tool counted them when the trees were trained.
    {kMl, "TreeEnsemble", "nodes_hitrates"},
    {kMl, "TreeEnsembleClassifier", "nodes_hitrates"},
    {kMl, "TreeEnsembleClassifier", "nodes_hitrates_as_tensor"},
    {kMl, "TreeEnsembleRegressor", "nodes_hitrates"},
    {kMl, "TreeEnsembleRegressor", "nodes_hitrates_as_tensor"},
    // How the model was trained: by one class against the rest, or by all; scores are the same.
    {kMl, "LinearClassifier", "multi_class"},
    // Is a number that is no category an error? Here it makes zeros, whichever.
    {kMl, "OneHotEncoder", "zeros"},
    // The tables of angles say as much; Attention does not turn.
    {kMicrosoft, "Attention", "rotary_embedding_dim"},
    {kMicrosoft, "RotaryEmbedding", "rotary_embedding_dim"},
    // Selu takes it, an activation that FusedGemm does not have here.
    {kMicrosoft, "FusedGemm", "activation_gamma"},
    // The type of an output that nothing but the mask's absence makes.
    {kMicrosoft, "EmbedLayerNormalization", "mask_index_type"},
    // They belong to inputs, weights of a norm, which are refused where they are given.
    {kMicrosoft, "GroupQueryAttention", "k_norm_epsilon"},
    {kMicrosoft, "GroupQueryAttention", "q_norm_epsilon"},
    {kMicrosoft, "GroupQueryAttention", "qk_norm_epsilon"},
    // The values that say what is computed.
    {kMicrosoft, "Attention", "past_present_share_buffer", "0"},
    {kMicrosoft, "GroupQueryAttention", "causal", "1"},
    {kMicrosoft, "GroupQueryAttention", "k_quant_type", "NONE"},
    {kMicrosoft, "GroupQueryAttention", "kv_cache_bit_width", "0"},
    {kMicrosoft, "GroupQueryAttention", "qk_output", "0"},
    {kMicrosoft, "GroupQueryAttention", "sliding_window_cache", "0"},
    {kMicrosoft, "GroupQueryAttention", "v_quant_type", "NONE"},
    {kMicrosoft, "MatMulNBits", "weight_prepacked", "0"},
    {kMicrosoft, "QAttention", "past_present_share_buffer", "0"},
    {kMicrosoft, "RotaryEmbedding", "scale", "1"},
};

/// As `Harmless::only` has it.
std::string text_of(const Attribute& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return concat(*i);
  if (const auto* f = std::get_if<double>(&value)) return concat(*f);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return "of another type";
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
    return concat("attribute '", name, "' is ", value != nullptr ? text_of(*value) : "of another type", "; only ",
                  h.only, " is supported");
  }
  return concat("attribute '", name, "' is not supported: nothing that computes ", op.name, " asks for it");
}

}  // namespace gcg
