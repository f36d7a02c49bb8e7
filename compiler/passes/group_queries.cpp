#include "compiler/passes/group_queries.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

/// The second factor of a product, [batch..., groups * repeats, x, y]. Each `repeats` consecutive matrices are equal.
struct Repeated {
  ValueId once;  // [batch..., groups, 1, x, y]
  Dim groups, repeats;
  bool transposed = false;  // the product reads the factor with x and y exchanged
};

bool exchanges_last_two(const Node& transpose, size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return transpose.ints_attribute("perm") == perm;
}

std::optional<Repeated> repeated(const Rewriter& r, ValueId factor) {
  Repeated out;
  if (const Node* t = r.producer(factor, op_Transpose)) {
    if (!exchanges_last_two(*t, r.shape(factor).size())) return std::nullopt;
    out.transposed = true;
    factor = t->inputs[0];
  }
  const Node* view = r.producer(factor, op_gart_View);
  const Node* expand = view != nullptr ? r.producer(view->inputs[0], op_Expand) : nullptr;
  if (expand == nullptr) return std::nullopt;
  const Shape &merged = r.shape(factor), &wide = r.shape(expand->outputs[0]), &once = r.shape(expand->inputs[0]);
  const size_t rank = merged.size();
  if (rank < 3 || wide.size() != rank + 1 || once.size() != rank + 1) return std::nullopt;
  const size_t axis = rank - 3;  // of the groups
  out.once = expand->inputs[0];
  out.groups = wide[axis];
  out.repeats = wide[axis + 1];
  if (!out.groups.is_constant() || !out.repeats.is_constant() || !once[axis + 1].is(1)) return std::nullopt;
  for (size_t d = 0; d <= rank; ++d)
    if (d != axis + 1 && once[d] != wide[d]) return std::nullopt;
  for (size_t d = 0; d < axis; ++d)
    if (merged[d] != wide[d]) return std::nullopt;
  const bool keeps_matrices = merged[axis + 1] == wide[axis + 2] && merged[axis + 2] == wide[axis + 3];
  return keeps_matrices && merged[axis] == out.groups * out.repeats ? std::optional(out) : std::nullopt;
}

ValueId viewed(Rewriter& r, ValueId v, const Shape& shape, const std::string& name) {
  const std::optional<ViewParams> params = express_view(r.graph, v, shape, {});
  return params ? r.add(op_gart_View, name, params->inputs, {{"shape", params->shape}}) : ValueId();
}

bool group(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  if (n.op != &op_MatMul || !r.has_shape(n.inputs[0]) || !r.has_shape(n.inputs[1])) return false;
  const std::optional<Repeated> factor = repeated(r, n.inputs[1]);
  if (!factor) return false;
  const ValueId left = n.inputs[0], out = n.outputs[0];
  const std::string name = n.name;
  const Shape shape = r.shape(left), once = r.shape(factor->once);
  const size_t axis = shape.size() - 3;
  const bool same_batch = shape.size() + 1 == once.size() &&
                          std::equal(shape.begin(), shape.begin() + static_cast<int64_t>(axis), once.begin());
  if (!same_batch || shape[axis] != factor->groups * factor->repeats) return false;
  Shape rows = shape, matrices = once;
  rows[axis] = factor->groups;
  rows[axis + 1] = factor->repeats * shape[axis + 1];
  matrices.erase(matrices.begin() + static_cast<int64_t>(axis) + 1);
  const ValueId a = viewed(r, left, rows, name);
  ValueId b = viewed(r, factor->once, matrices, name);
  if (!a.valid() || !b.valid()) return false;
  if (factor->transposed) {
    std::vector<int64_t> perm(matrices.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    b = r.add(op_Transpose, name, {b}, {{"perm", std::move(perm)}});
  }
  const ValueId product = viewed(r, r.add(op_MatMul, name, {a, b}), r.shape(out), name);
  return product.valid() && r.replace(out, product);
}

}  // namespace

bool group_queries(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (const NodeId id : r.graph.order()) any = group(r, id) || any;
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
