#include "compiler/train/gradient_rule.h"

#include <map>

#include "compiler/ops/expansion.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_support.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::map<const OpDef*, GradientRule> collect() {
  std::map<const OpDef*, GradientRule> rules;
  for (const auto family :
       {arithmetic_gradients(), activation_gradients(), product_gradients(), convolution_gradients(), pool_gradients(),
        reduction_gradients(), normalization_gradients(), shape_gradients(), movement_gradients(), index_gradients(),
        loss_gradients(), control_gradients()})
    for (const GradientRow& row : family)
      GCG_CHECK(rules.emplace(&op(row.op, row.domain), row.rule).second, "operator ", row.op, " has two gradients");
  return rules;
}

const std::map<const OpDef*, GradientRule>& rules() {
  static const std::map<const OpDef*, GradientRule> all = collect();
  return all;
}

/// True if no result can be a float.
bool gives_whole_numbers(const OpDef& op) {
  if (op.results.count() == 0) return false;
  for (int i = 0; i < op.results.count(); ++i) {
    const Types types = op.results.of(i);
    const Types operand_types = types == Types::as_first ? op.types.of(0) : types;
    if (operand_types != Types::integers && operand_types != Types::booleans && operand_types != Types::i64)
      return false;
  }
  return true;
}

}  // namespace

void zero_gradient(GradientContext& c) { c.fail("its results are constant almost everywhere"); }
void gradient_of_expansion(GradientContext& c) { c.fail("it must be expanded first"); }

GradientKind gradient_kind(const OpDef& op) {
  const auto it = rules().find(&op);
  const GradientRule rule = it == rules().end() ? nullptr : it->second;
  if (rule == zero_gradient) return GradientKind::zero;
  if (rule == gradient_of_expansion) return GradientKind::expanded;
  if (rule != nullptr) return GradientKind::rule;
  if (gives_whole_numbers(op)) return GradientKind::zero;
  const bool is_upgraded = op.infer == nullptr;  // an operator that exists only in imported models
  return is_upgraded || expand_of(op) != nullptr ? GradientKind::expanded : GradientKind::none;
}

GradientRule gradient_rule_of(const OpDef& op) {
  return gradient_kind(op) == GradientKind::rule ? rules().at(&op) : nullptr;
}

GradientContext::GradientContext(Graph& graph, Graph& outermost, NodeId node, std::vector<ValueId> results,
                                 std::vector<bool> required)
    : FormulaWriter(graph, outermost, graph.node(node).name + ".gradient"),
      node_(node),
      gradients_(std::move(results)),
      required_(std::move(required)),
      found_(required_.size()) {}

Formula GradientContext::y(size_t i) {
  Node& n = graph().node(node_);
  bool is_new = false;
  while (n.outputs.size() <= i) n.outputs.emplace_back();
  if (!n.outputs[i].valid()) {
    Value value;
    value.name = graph().unique_name(concat(n.name, ".", i));
    value.producer = node_;
    value.output_index = static_cast<int>(i);
    n.outputs[i] = graph().add_value(std::move(value));
    is_new = true;
  }
  if (is_new) infer_node(graph(), node_, outermost());
  return of(n.outputs[i]);
}

Formula GradientContext::g(size_t i) { return has_g(i) ? of(gradients_[i]) : zeros_like(y(i)); }

void GradientContext::set(size_t i, Formula gradient) {
  if (!wants(i)) return;
  found_.at(i) = fit(cast(gradient, x(i).dtype()), x(i)).id;
}

int64_t GradientContext::axis(int64_t otherwise) { return wrap_axis(integer("axis", otherwise), x().rank()); }

std::vector<int64_t> GradientContext::known(size_t i, const char* role) {
  const std::optional<std::vector<int64_t>> values = known_ints(x(i).value());
  if (!values) fail(concat(role, " (input ", i, ") must be known when compiling"));
  return *values;
}

void GradientContext::fail(const std::string& message) {
  gcg::fail("the gradient of ", node().op->name, " '", node().name, "': ", message);
}

}  // namespace gcg
