#include "compiler/passes/expand_selection.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

class SelectionWriter {
 public:
  SelectionWriter(Rewriter& r, NodeId id) : r_(r), id_(id), name_(r.graph.node(id).name) {}

  void run() {
    const Node& n = r_.graph.node(id_);
    const ValueId x = n.inputs[0], y = n.outputs[0];
    const bool compresses = n.op == &op_Compress, along_axis = n.has_attribute("axis");
    const int64_t axis = n.int_attribute("axis", 0);
    const ValueId positions = positions_of(compresses ? n.inputs[1] : flat(x));
    if (!compresses) r_.replace(y, r_.add(op_gart_Unravel, name_, {positions, x}));
    else r_.replace(y, r_.add(op_Gather, name_, {along_axis ? x : flat(x), positions}, {{"axis", axis}}));
    r_.graph.erase_node(id_);
  }

 private:
  ValueId constant(Tensor t) { return r_.graph.add_constant(name_ + ".constant", std::move(t)); }
  ValueId flat(ValueId x) { return r_.add(op_Reshape, name_, {x, constant(Tensor::vector_i64({-1}))}); }
  ValueId cast(ValueId x, DType to) {
    return r_.add(op_Cast, name_, {x}, {{"to", static_cast<int64_t>(dtype_to_onnx(to))}});
  }
  ValueId positions_of(ValueId condition) {
    const ValueId ones = cast(cast(condition, DType::boolean), DType::i64);
    return r_.add(op_gart_Positions, name_, {r_.add(op_CumSum, name_, {ones, constant(Tensor::scalar_i64(0))})});
  }

  Rewriter& r_;
  NodeId id_;
  std::string name_;
};

}  // namespace

bool expand_selection(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (NodeId id : r.graph.order()) {
      const OpDef* op = r.graph.node(id).op;
      if (op != &op_NonZero && op != &op_Compress) continue;
      SelectionWriter(r, id).run();
      any = true;
    }
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
