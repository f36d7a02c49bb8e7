#include "compiler/schedule/fusion_costs.h"

#include <set>
#include <string_view>

#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

using Names = std::set<std::string_view>;

bool is_op(const Node& n, std::string_view name, std::string_view domain = "") {
  return n.op->name == name && n.op->domain == domain;
}

}  // namespace

bool anchors_matmul(const Graph& g, const Node& n) {
  if (is_op(n, "PackedMatMul", "gart")) return true;
  return is_op(n, "MatMul") && g.value(n.inputs[0]).shape->size() >= 2 && g.value(n.inputs[1]).shape->size() >= 2 &&
         g.value(n.outputs[0]).dtype == DType::f32;
}

bool anchors_conv(const Node& n) { return is_op(n, "BlockedConv", "gart") || is_op(n, "PlainConv", "gart"); }
bool anchors_attention(const Node& n) { return is_op(n, "AttentionMatMul", "gart"); }
bool is_control(const Node& n) { return n.op->kind == OpKind::control || n.op->kind == OpKind::opaque; }
bool is_concat(const Node& n) { return is_op(n, "Concat"); }
bool is_interleave(const Node& n) { return is_op(n, "Interleave", "gart"); }
bool is_transpose(const Node& n) { return is_op(n, "Transpose"); }

bool is_cheap(const Node& n) {
  static const Names names = {"Slice", "Split", "Expand", "Cast", "Not", "DequantizeLinear"};
  return n.op->kind == OpKind::generator || n.op->kind == OpKind::view || names.count(n.op->name) != 0;
}

double cost(const Node& n) {
  static const Names dear = {"Exp",  "Log",     "Erf",  "Tanh", "Sigmoid", "Gelu",  "Pow",   "Softplus",
                             "Mish", "Sin",     "Cos",  "Tan",  "Sinh",    "Cosh",  "Elu",   "Selu",
                             "Celu", "Softmax", "Asin", "Acos", "Atan",    "Asinh", "Acosh", "Atanh"};
  if (is_cheap(n)) return 0.5;
  return dear.count(n.op->name) ? 10 : 1;
}

int passes(const Node& n) {
  static const Names windowed = {"MaxPool",
                                 "AveragePool",
                                 "LpPool",
                                 "BlockedMaxPool",
                                 "BlockedAveragePool",
                                 "Conv",
                                 "ConvTranspose",
                                 "MatMul",
                                 "LRN",
                                 "Resize",
                                 "DFT",
                                 "STFT",
                                 "Ranks",
                                 "PlacesOfRanks"};
  static const Names rows = {
      "Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "Hardmax"};
  if (windowed.count(n.op->name)) return 9;
  return rows.count(n.op->name) ? 3 : 1;
}

}  // namespace gcg
