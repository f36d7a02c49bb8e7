#include "compiler/train/mixed_precision.h"

#include <map>

#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/train/formula.h"

namespace gcg {
namespace {

class ProductRounding {
 public:
  ProductRounding(Graph& graph, Graph& outermost, DType half) : graph_(graph), outermost_(outermost), half_(half) {}

  void run() {
    for (NodeId id : graph_.order()) {
      for (const auto& body : graph_.node(id).bodies) ProductRounding(*body, outermost_, half_).run();
      if (graph_.node(id).op->kind == OpKind::contraction) round(id);
    }
  }

 private:
  void round(NodeId id) {
    const std::string name = graph_.node(id).name;
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId in = graph_.node(id).inputs[i];
      if (!in.valid() || graph_.value(in).dtype != DType::f32 || is_dequantized(in)) continue;
      const auto [known, is_new] = rounded_.try_emplace(in);
      if (is_new) known->second = rounded(name, in);
      graph_.node(id).inputs[i] = known->second;
    }
    for (ValueId out : std::vector<ValueId>(graph_.node(id).outputs))
      if (out.valid() && graph_.value(out).dtype == DType::f32) replace(name, out);
  }

  bool is_dequantized(ValueId value) const {
    for (NodeId id = graph_.value(value).producer; id.valid(); id = graph_.value(value).producer) {
      const Node& node = graph_.node(id);
      if (node.op == &op_DequantizeLinear) return true;
      if (node.op->kind != OpKind::view && node.op->kind != OpKind::movement) return false;
      value = node.inputs[0];
    }
    return false;
  }

  /// All readers of the value read its rounded value.
  void replace(const std::string& name, ValueId value) {
    FormulaWriter w(graph_, outermost_, name);
    const Formula half = cast(w.of(value), half_);
    const NodeId first = graph_.value(half.id).producer;
    const ValueId wide = cast(half, DType::f32).id;
    graph_.replace_uses(value, wide);
    graph_.node(first).inputs = {value};
    rounded_[wide] = wide;
  }

  ValueId rounded(const std::string& name, ValueId value) {
    FormulaWriter w(graph_, outermost_, name);
    return cast(cast(w.of(value), half_), DType::f32).id;
  }

  Graph& graph_;
  Graph& outermost_;
  const DType half_;
  std::map<ValueId, ValueId> rounded_;
};

}  // namespace

void round_products(Graph& graph, DType half) { ProductRounding(graph, graph, half).run(); }

}  // namespace gcg
