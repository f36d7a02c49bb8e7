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

void read_attributes(const Node& node, AttentionParams& form) {
  form.causal = node.int_attribute("is_causal", 0) != 0;
  form.softcap = node.float_attribute("softcap", 0);
  if (node.has_attribute("scale")) form.scale = node.float_attribute("scale", 0);
  form.left_window = node.int_attribute("left_window_size", -1);
  form.right_window = node.int_attribute("right_window_size", -1);
  form.qk_output_mode = node.int_attribute("qk_matmul_output_mode", 0);
  if (form.qk_output_mode < 0 || form.qk_output_mode > 3)
    fail_node(node, concat("qk_matmul_output_mode is ", form.qk_output_mode, ", it must be 0, 1, 2 or 3"));
  if (const int64_t code = node.int_attribute("softmax_precision", 0); code != 0) {
    form.softmax_dtype = dtype_from_onnx(static_cast<int32_t>(code));
    if (!form.softmax_dtype || !is_float(*form.softmax_dtype))
      fail_node(node, concat("softmax_precision is ", code, ", it must name a float type"));
  }
}

}  // namespace

AttentionParams attention_params(const Node& node, const Shape& q, const Shape& k, const Shape& v,
                                 const Shape* past_key) {
  AttentionParams form;
  read_attributes(node, form);
  if (q.size() != k.size() || k.size() != v.size() || (q.size() != 3 && q.size() != 4))
    fail_node(node, concat("Q, K and V have ", q.size(), ", ", k.size(), " and ", v.size(),
                           " dimensions; all three must have 3, or all 4"));
  form.packed_heads = q.size() == 3;
  form.batch = q[0];
  const size_t sequence = form.packed_heads ? 1 : 2;
  form.queries = q[sequence];
  if (form.packed_heads) {
    const int64_t query_heads = heads_attribute(node, "q_num_heads"), key_heads = heads_attribute(node, "kv_num_heads");
    form.query_heads = query_heads;
    form.key_heads = key_heads;
    form.head = per_head(node, q[2], query_heads, "Q");
    form.value_head = per_head(node, v[2], key_heads, "V");
  } else {
    form.query_heads = q[1];
    form.key_heads = k[1];
    form.head = q[3];
    form.value_head = v[3];
  }
  if (past_key && past_key->size() != 4) fail_node(node, "past_key must have 4 dimensions");
  form.past = past_key ? (*past_key)[2] : Dim(0);
  form.keys = form.past + k[sequence];
  const Dim &heads = form.query_heads, &groups = form.key_heads;
  if (heads == groups) return form;
  if (!heads.is_constant() || !groups.is_constant() || groups.constant() < 1 ||
      heads.constant() % groups.constant() != 0)
    fail_node(node, concat(heads.str(), " query heads are not a multiple of ", groups.str(), " key heads"));
  return form;
}

}  // namespace gcg
