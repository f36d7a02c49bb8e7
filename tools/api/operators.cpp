#include "gcc_graph/operators.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "compiler/ops/expansion.h"
#include "compiler/ops/op_def.h"
#include "compiler/train/gradient_rule.h"

namespace gcc_graph {
namespace {

const char* way_of(const gcg::OpDef& op) {
  if (gcg::expand_of(op) != nullptr) return "other operators";
  switch (op.kind) {
    case gcg::OpKind::pointwise:
      return "elementwise";
    case gcg::OpKind::movement:
      return "movement of elements";
    case gcg::OpKind::view:
      return "view";
    case gcg::OpKind::reduction:
      return "reduction";
    case gcg::OpKind::contraction:
      return "contraction";
    case gcg::OpKind::generator:
      return "generator";
    case gcg::OpKind::control:
      return "control flow";
    case gcg::OpKind::program:
      return "statements in order";
    case gcg::OpKind::opaque:
      return "other operators";
  }
  return "";
}

const char* gradient_of(const gcg::OpDef& op) {
  switch (gcg::gradient_kind(op)) {
    case gcg::GradientKind::rule:
      return "yes";
    case gcg::GradientKind::expanded:
      return "as what it becomes";
    case gcg::GradientKind::zero:
      return "zero";
    case gcg::GradientKind::none:
      return "no";
  }
  return "";
}

/// The element types of up to `most` operands.
std::string types_of(const gcg::DeclaredTypes& types, int most) {
  std::string text;
  for (int i = 0; i < types.count() && (most < 0 || i < most); ++i)
    text += (i > 0 ? ", " : "") + std::string(name_of(types.of(i)));
  return text;
}

}  // namespace

std::vector<OperatorInfo> known_operators() {
  std::vector<OperatorInfo> all;
  for (const gcg::OpDef* op : gcg::all_ops())
    if (std::string_view(op->domain) != "gart")
      all.push_back({*op->domain != '\0' ? op->domain : "ai.onnx", op->name, static_cast<int>(op->since),
                     op->min_inputs, op->max_inputs, op->min_outputs, op->max_outputs,
                     types_of(op->types, op->max_inputs), types_of(op->results, op->max_outputs), gradient_of(*op),
                     way_of(*op)});
  std::sort(all.begin(), all.end(), [](const OperatorInfo& a, const OperatorInfo& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return all;
}

}  // namespace gcc_graph
