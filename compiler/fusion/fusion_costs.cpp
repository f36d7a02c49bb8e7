#include "compiler/fusion/fusion_costs.h"

#include <string_view>

#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

bool is_op(const Node& n, std::string_view name, std::string_view domain = "") {
  return n.op->name == name && n.op->domain == domain;
}

}  // namespace

bool is_symbolic_content(const Value& value) { return value.contents.has_value() && !value.is_constant(); }

bool anchors_matmul(const Graph& g, const Node& n, const DeviceTraits& traits) {
  if (is_op(n, "PackedMatMul", "gart")) return true;
  if (!is_op(n, "MatMul")) return false;
  const DType dtype = g.value(n.outputs[0]).dtype;
  return g.value(n.inputs[0]).shape->size() >= 2 && g.value(n.inputs[1]).shape->size() >= 2 &&
         (dtype == DType::f32 || (dtype == DType::f64 && traits.multiplies_doubles));
}

bool anchors_conv(const Node& n) {
  return is_op(n, "BlockedConv", "gart") || is_op(n, "WinogradConv", "gart") ||
         (is_op(n, "PlainConv", "gart") && n.int_attribute("depthwise", 0) == 0);
}
bool anchors_attention(const Node& n) { return is_op(n, "Attention", "gart"); }
bool is_control(const Node& n) { return n.op->kind == OpKind::control || n.op->kind == OpKind::opaque; }
bool is_concat(const Node& n) { return is_op(n, "Concat"); }
bool is_interleave(const Node& n) { return is_op(n, "Interleave", "gart"); }
bool is_transpose(const Node& n) { return is_op(n, "Transpose"); }

bool is_cheap(const Node& n) { return n.op->cost() == Cost::cheap; }

double cost(const Node& n) {
  switch (n.op->cost()) {
    case Cost::cheap:
      return 0.5;
    case Cost::expensive:
      return 10;
    default:
      return 1;
  }
}

int passes(const Node& n) {
  switch (n.op->reads()) {
    case Reads::window:
      return 9;
    case Reads::row:
      return 3;
    default:
      return 1;
  }
}

}  // namespace gcg
