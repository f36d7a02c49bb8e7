#include "compiler/passes/multiply_patches.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

constexpr int64_t kMostChannels = 15;

/// True if the windows cover the input and none overlaps another.
bool are_patches(const Window& windows) {
  bool has_taps = false;
  for (const WindowDim& w : windows) {
    const bool touch = w.kernel.is(w.stride) && w.dilation == 1 && w.pad_begin.is(0) && w.pad_end.is(0);
    if (!touch || !mod(w.input, Dim(w.stride)).is(0)) return false;
    has_taps = has_taps || w.stride > 1;
  }
  return has_taps;
}

bool is_taken(const Rewriter& r, const Node& n) {
  if (n.op != &op_Conv || n.int_attribute("group", 1) != 1) return false;
  const Value &x = r.value(n.inputs[0]), &w = r.value(n.inputs[1]);
  if (!x.shape || !w.shape || !is_static(*w.shape) || w.dtype != DType::f32) return false;
  if ((*w.shape)[1].constant() > kMostChannels) return false;
  return are_patches(window_of(n, *x.shape, Shape(w.shape->begin() + 2, w.shape->end())));
}

ValueId viewed(Rewriter& r, ValueId v, const Shape& shape, const std::string& name) {
  const std::optional<ViewParams> view = express_view(r.graph, v, shape, {});
  return view ? r.add(op_gart_View, name, view->inputs, {{"shape", view->shape}}) : ValueId();
}

/// x[n, c, p*k, ...] as [n, p*..., c*k*...]. Invalid if the view cannot be expressed.
ValueId patches(Rewriter& r, ValueId x, const Window& windows, const std::string& name) {
  const Shape shape = r.shape(x);
  Shape apart = {shape[0], shape[1]};
  std::vector<int64_t> perm = {0}, taps = {1};
  Dim positions = 1, depth = shape[1];
  for (const WindowDim& w : windows) {
    perm.push_back(static_cast<int64_t>(apart.size()));
    taps.push_back(perm.back() + 1);
    const Dim count = floor_div(w.input, Dim(w.stride));
    apart.insert(apart.end(), {count, Dim(w.stride)});
    positions = positions * count;
    depth = depth * w.stride;
  }
  perm.insert(perm.end(), taps.begin(), taps.end());
  const ValueId pieces = viewed(r, x, apart, name);
  if (!pieces.valid()) return {};
  return viewed(r, r.add(op_Transpose, name, {pieces}, {{"perm", perm}}), {shape[0], positions, depth}, name);
}

bool multiply(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  if (!is_taken(r, n)) return false;
  const std::string name = n.name;
  const std::vector<ValueId> in = n.inputs;
  const ValueId out = n.outputs[0];
  const Shape weights = r.shape(in[1]), result = r.shape(out);
  const Window windows = window_of(n, r.shape(in[0]), Shape(weights.begin() + 2, weights.end()));
  const ValueId lines = patches(r, in[0], windows, name);
  if (!lines.valid()) return false;
  const ValueId flat = viewed(r, in[1], {weights[0], r.shape(lines)[2]}, name);
  ValueId product =
      r.add(op_MatMul, name, {lines, r.add(op_Transpose, name, {flat}, {{"perm", std::vector<int64_t>{1, 0}}})});
  if (in.size() > 2 && in[2].valid()) product = r.add(op_Add, name, {product, in[2]});
  const ValueId back =
      viewed(r, r.add(op_Transpose, name, {product}, {{"perm", std::vector<int64_t>{0, 2, 1}}}), result, name);
  return back.valid() && r.replace(out, back);
}

}  // namespace

bool multiply_patches(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (const NodeId id : r.graph.order()) any = multiply(r, id) || any;
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
