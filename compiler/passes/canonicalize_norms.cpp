// Normalisations that exporters wrote with other operators.
#include "compiler/ops/gart_view.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/canonicalize.h"

namespace gcg {
namespace {

/// Exporters write a normalisation over groups of channels as InstanceNormalization(View(x[N,C,...], [N,G,...])). This
/// normalises x itself, with one weight per group.
bool instances_to_groups(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const std::string name = n.name;
  const ValueId y = n.outputs[0];
  const Node* view = r.producer(n.inputs[0], op_gart_View);
  if (!view || !r.has_shape(view->inputs[0])) return false;
  const ValueId x = view->inputs[0];
  const Shape &from = r.shape(x), &to = r.shape(n.inputs[0]);
  if (from.size() < 3 || !(from[0] == to[0]) || !from[1].is_constant() || !to[1].is_constant()) return false;
  const int64_t channels = from[1].constant(), groups = to[1].constant();
  if (groups < 1 || groups == channels || channels % groups != 0) return false;
  const auto back = express_view(r.graph, x, to, r.graph.inputs);
  if (!back) return false;
  auto attributes = n.attributes;
  attributes["num_groups"] = groups;
  attributes["scale_per_group"] = int64_t{1};
  std::vector<ValueId> inputs = back->inputs;
  inputs[0] = r.add(op_GroupNormalization, name, {x, n.inputs[1], n.inputs[2]}, std::move(attributes));
  return r.replace(y, r.add(op_gart_View, name, std::move(inputs), {{"shape", back->shape}}));
}

}  // namespace

const std::vector<RuleFor>& normalization_rules() {
  static const std::vector<RuleFor> rules = {{&op_InstanceNormalization, instances_to_groups}};
  return rules;
}

}  // namespace gcg
