#include "compiler/passes/multiply_points.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

constexpr int64_t kFewestPoints = 32;  // of an image; fewer points are a product by few columns

bool moves(const Node& n) { return n.op == &op_gart_View || n.op == &op_Reshape || n.op == &op_Transpose; }

/// The values that a node other than a view or transpose reads, and those that several nodes read.
struct Readers {
  explicit Readers(const Graph& graph) {
    for (const NodeId id : graph.order()) {
      const Node& n = graph.node(id);
      for (const ValueId v : n.inputs) {
        if (!v.valid()) continue;
        if (!moves(n)) computing.insert(v);
        if (!once.insert(v).second) several.insert(v);
      }
      if (!n.bodies.empty()) has_bodies = true;
    }
  }
  std::set<ValueId> computing, once, several;
  bool has_bodies = false;  // whose nodes may read any value
};

bool is_pointwise(const Rewriter& r, const Node& n) {
  if (n.op != &op_Conv || n.int_attribute("group", 1) != 1) return false;
  const ValueId x = n.inputs[0], w = n.inputs[1];
  if (!r.has_shape(x) || r.shape(x).size() < 3 || r.value(x).dtype != DType::f32 || r.constant(w) == nullptr)
    return false;
  const Shape kernel(r.shape(w).begin() + 2, r.shape(w).end());
  const Window window = window_of(n, r.shape(x), kernel);
  return std::all_of(window.begin(), window.end(), [](const WindowDim& d) {
    return d.kernel.is(1) && d.stride == 1 && d.pad_begin.is(0) && d.pad_end.is(0);
  });
}

bool stands_alone(const Rewriter& r, const Readers& readers, const Node& n) {
  const ValueId x = n.inputs[0], y = n.outputs[0];
  const NodeId producer = r.value(x).producer;
  const bool from_view = !producer.valid() || moves(r.graph.node(producer));
  return from_view && !readers.has_bodies && !readers.several.count(x) && !readers.computing.count(y);
}

ValueId viewed(Rewriter& r, ValueId v, const Shape& shape, const std::string& name,
               const std::vector<ValueId>& lenders = {}) {
  const std::optional<ViewParams> view = express_view(r.graph, v, shape, lenders);
  return view ? r.add(op_gart_View, name, view->inputs, {{"shape", view->shape}}) : ValueId();
}

bool multiply(Rewriter& r, const Readers& readers, NodeId id) {
  const Node& n = r.graph.node(id);
  if (!is_pointwise(r, n) || !stands_alone(r, readers, n)) return false;
  const std::string name = n.name;
  const std::vector<ValueId> in = n.inputs;
  const ValueId out = n.outputs[0];
  const Shape image = r.shape(in[0]), weights = r.shape(in[1]), result = r.shape(out);
  const Dim points = product({image.begin() + 2, image.end()});
  if (points.is_constant() && points.constant() < kFewestPoints) return false;
  const ValueId columns = viewed(r, in[0], {image[0], image[1], points}, name);
  const ValueId rows = viewed(r, in[1], {weights[0], weights[1]}, name);
  if (!columns.valid() || !rows.valid()) return false;
  ValueId y = r.add(op_MatMul, name, {rows, columns});
  if (in.size() > 2 && in[2].valid()) {
    const ValueId bias = viewed(r, in[2], {weights[0], Dim(1)}, name);
    if (!bias.valid()) return false;
    y = r.add(op_Add, name, {y, bias});
  }
  const ValueId back = viewed(r, y, result, name, {in[0]});
  return back.valid() && r.replace(out, back);
}

}  // namespace

bool multiply_points(Graph& graph, const Target& target) {
  if (target.precision != Precision::fp32) return false;
  const bool changed = edit_all(graph, [](Rewriter& r) {
    const Readers readers(r.graph);
    bool any = false;
    for (const NodeId id : r.graph.order()) any = multiply(r, readers, id) || any;
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
