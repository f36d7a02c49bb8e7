#include "compiler/ops/attention_params.h"

namespace gcg {
namespace {

int64_t heads_attribute(const Node& node, const char* name) {
  const int64_t heads = node.int_attribute(name, 0);
  if (heads < 1) fail_node(node, concat("3-D inputs need attribute ", name, " to be at least 1, it is ", heads));
  return heads;
}

Dim per_head(const Node& node, const Dim& hidden, int64_t heads, const char* what) {
  if (hidden.is_constant() && hidden.constant() % heads != 0)
    fail_node(node,
              concat("the last extent of ", what, ", ", hidden.str(), ", is not a multiple of ", heads, " heads"));
  return floor_div(hidden, heads);
}

void read_attributes(const Node& node, AttentionParams& params) {
  params.causal = node.int_attribute("is_causal", 0) != 0;
  params.softcap = node.float_attribute("softcap", 0);
  if (node.has_attribute("scale")) params.scale = node.float_attribute("scale", 0);
  params.left_window = node.int_attribute("left_window_size", -1);
  params.right_window = node.int_attribute("right_window_size", -1);
  params.qk_output_mode = node.int_attribute("qk_matmul_output_mode", 0);
  if (params.qk_output_mode < 0 || params.qk_output_mode > 3)
    fail_node(node, concat("qk_matmul_output_mode is ", params.qk_output_mode, ", it must be 0, 1, 2 or 3"));
  if (const int64_t code = node.int_attribute("softmax_precision", 0); code != 0) {
    params.softmax_dtype = dtype_from_onnx(static_cast<int32_t>(code));
    if (!params.softmax_dtype || !is_float(*params.softmax_dtype))
      fail_node(node, concat("softmax_precision is ", code, ", it must name a float type"));
  }
}

}  // namespace

AttentionParams attention_params(const Node& node, const Shape& q, const Shape& k, const Shape& v,
                                 const Shape* past_key) {
  AttentionParams params;
  read_attributes(node, params);
  if (q.size() != k.size() || k.size() != v.size() || (q.size() != 3 && q.size() != 4))
    fail_node(node, concat("Q, K and V have ", q.size(), ", ", k.size(), " and ", v.size(),
                           " dimensions; all three must have 3, or all 4"));
  params.packed_heads = q.size() == 3;
  params.batch = q[0];
  const size_t sequence = params.packed_heads ? 1 : 2;
  params.queries = q[sequence];
  if (params.packed_heads) {
    const int64_t query_heads = heads_attribute(node, "q_num_heads"), key_heads = heads_attribute(node, "kv_num_heads");
    params.query_heads = query_heads;
    params.key_heads = key_heads;
    params.head = per_head(node, q[2], query_heads, "Q");
    params.value_head = per_head(node, v[2], key_heads, "V");
  } else {
    params.query_heads = q[1];
    params.key_heads = k[1];
    params.head = q[3];
    params.value_head = v[3];
  }
  if (past_key && past_key->size() != 4) fail_node(node, "past_key must have 4 dimensions");
  params.past = past_key ? (*past_key)[2] : Dim(0);
  params.keys = params.past + k[sequence];
  const Dim &heads = params.query_heads, &groups = params.key_heads;
  if (heads == groups) return params;
  if (!heads.is_constant() || !groups.is_constant() || groups.constant() < 1 ||
      heads.constant() % groups.constant() != 0)
    fail_node(node, concat(heads.str(), " query heads are not a multiple of ", groups.str(), " key heads"));
  return params;
}

}  // namespace gcg
