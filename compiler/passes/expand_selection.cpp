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
    if (!compresses)
      r_.replace(y, r_.add(op_gart_Unravel, name_, {positions, x}));
    else
      r_.replace(y, r_.add(op_Gather, name_, {along_axis ? x : flat(x), positions}, {{"axis", axis}}));
    r_.graph.erase_node(id_);
  }

 protected:
  ValueId constant(Tensor t) { return r_.graph.add_constant(name_ + ".constant", std::move(t)); }
  ValueId number(int64_t i) { return constant(Tensor::scalar_i64(i)); }
  ValueId reshape(ValueId x, std::vector<int64_t> shape) {
    return r_.add(op_Reshape, name_, {x, constant(Tensor::vector_i64(std::move(shape)))});
  }
  ValueId flat(ValueId x) { return reshape(x, {-1}); }
  ValueId cast(ValueId x, DType to) {
    return r_.add(op_Cast, name_, {x}, {{"to", static_cast<int64_t>(dtype_to_onnx(to))}});
  }
  /// For each element: the number of true elements up to and including it.
  ValueId counts_of(ValueId condition) {
    return r_.add(op_CumSum, name_, {cast(cast(condition, DType::boolean), DType::i64), number(0)});
  }
  ValueId positions_of(ValueId condition) { return r_.add(op_gart_Positions, name_, {counts_of(condition)}); }

  Rewriter& r_;
  NodeId id_;
  std::string name_;
};

class UniqueWriter : SelectionWriter {
 public:
  UniqueWriter(Rewriter& r, NodeId id)
      : SelectionWriter(r, id), x_(r.graph.node(id).inputs[0]), along_axis_(r.graph.node(id).has_attribute("axis")) {
    const int64_t rank = static_cast<int64_t>(r.shape(x_).size()), axis = r.graph.node(id).int_attribute("axis", 0);
    axis_ = axis < 0 ? axis + rank : axis;
  }

  void run() {
    const NodeId compared = r_.graph.add_node(op("EqualSlices", "gart"), name_, {slices_of_x()}, 2);
    infer_node(r_.graph, compared, r_.outermost);
    const ValueId same = r_.graph.node(compared).outputs[0], rank = r_.graph.node(compared).outputs[1];
    const ValueId ascending = r_.add(op_Range, name_, {number(0), r_.add(op_Size, name_, {same}), number(1)});
    const ValueId count = counts_of(r_.add(op_Equal, name_, {same, ascending}));
    ValueId first = r_.add(op_gart_Positions, name_, {count});
    ValueId inverse = r_.add(op_Sub, name_, {r_.add(op_Gather, name_, {count, same}), number(1)});
    const ValueId zeros = r_.add(op_ConstantOfShape, name_, {r_.add(op_Shape, name_, {first})},
                                 {{"value", std::make_shared<const Tensor>(Tensor::vector_i64({0}))}});
    if (r_.graph.node(id_).int_attribute("sorted", 1) != 0) {
      inverse = rank;
      first = r_.add(op_ScatterElements, name_, {zeros, rank, same});
    }
    const ValueId ones = r_.add(op_Add, name_, {r_.add(op_Mul, name_, {same, number(0)}), number(1)});
    give(0,
         r_.add(op_Gather, name_, {along_axis_ ? x_ : flat(x_), first}, {{"axis", along_axis_ ? axis_ : int64_t{0}}}));
    give(1, first);
    give(2, inverse);
    give(3, r_.add(op_ScatterElements, name_, {zeros, inverse, ones}, {{"reduction", std::string("add")}}));
    r_.graph.erase_node(id_);
  }

 private:
  /// [N, M]: a row per slice.
  ValueId slices_of_x() {
    if (!along_axis_) return reshape(x_, {-1, 1});
    const Shape& shape = r_.shape(x_);
    std::vector<int64_t> order = {axis_};
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      if (d != axis_) order.push_back(d);
    const ValueId turned = r_.add(op_Transpose, name_, {x_}, {{"perm", order}});
    return r_.add(op_Flatten, name_, {turned}, {{"axis", int64_t{1}}});
  }
  void give(size_t output, ValueId value) {
    const std::vector<ValueId>& outputs = r_.graph.node(id_).outputs;
    if (output < outputs.size() && outputs[output].valid()) r_.replace(outputs[output], value);
  }

  ValueId x_;
  bool along_axis_;
  int64_t axis_ = 0;
};

}  // namespace

bool expand_selection(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (NodeId id : r.graph.order()) {
      const OpDef* op = r.graph.node(id).op;
      if (op != &op_NonZero && op != &op_Compress && op != &op_Unique) continue;
      if (op == &op_Unique)
        UniqueWriter(r, id).run();
      else
        SelectionWriter(r, id).run();
      any = true;
    }
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
