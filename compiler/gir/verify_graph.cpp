#include "compiler/gir/verify_graph.h"

#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::string node_text(const Node& n) { return concat(n.op ? n.op->name : "node", " '", n.name, "'"); }

void check_id(const Graph& g, ValueId id, const std::string& where) {
  GCG_CHECK(id.index >= 0 && id.index < g.value_count(), where, " of graph '", g.name, "' names value ", id.index,
            " of ", g.value_count());
}

void verify_node(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  GCG_CHECK(n.op != nullptr, "node '", n.name, "' of graph '", g.name, "' has no operator");
  for (ValueId in : n.inputs)
    if (in.valid()) check_id(g, in, "an input of " + node_text(n));
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (!n.outputs[i].valid()) continue;
    check_id(g, n.outputs[i], "an output of " + node_text(n));
    const Value& v = g.value(n.outputs[i]);
    GCG_CHECK(v.producer == id && v.output_index == static_cast<int>(i), "value '", v.name, "' is output ", i, " of ",
              node_text(n), " but names another producer");
  }
  const auto inputs = static_cast<int>(n.inputs.size()) - n.captures, outputs = static_cast<int>(n.outputs.size());
  GCG_CHECK(n.captures >= 0 && inputs >= n.op->min_inputs && (n.op->max_inputs < 0 || inputs <= n.op->max_inputs),
            node_text(n), " has ", inputs, " inputs");
  GCG_CHECK(outputs >= n.op->min_outputs && (n.op->max_outputs < 0 || outputs <= n.op->max_outputs), node_text(n),
            " has ", outputs, " outputs");
}

void verify_value(const Graph& g, ValueId id, const std::set<ValueId>& inputs) {
  const Value& v = g.value(id);
  if (v.producer.valid()) {
    GCG_CHECK(v.producer.index < g.node_count() && !g.node(v.producer).erased, "value '", v.name,
              "' has an erased producer");
    const Node& n = g.node(v.producer);
    GCG_CHECK(
        static_cast<size_t>(v.output_index) < n.outputs.size() && n.outputs[static_cast<size_t>(v.output_index)] == id,
        "value '", v.name, "' is not an output of its producer ", node_text(n));
    GCG_CHECK(!v.is_constant(), "value '", v.name, "' is a constant and has the producer ", node_text(n));
    GCG_CHECK(inputs.count(id) == 0, "graph input '", v.name, "' has the producer ", node_text(n));
  }
  if (v.is_constant()) {
    GCG_CHECK(v.dtype == v.constant->dtype() && v.shape && *v.shape == to_shape(v.constant->shape()), "constant '",
              v.name, "' does not have the type of its data");
    GCG_CHECK(inputs.count(id) == 0, "graph input '", v.name, "' is a constant");
  }
  if (v.shape && v.contents)
    GCG_CHECK(product(*v.shape).is(static_cast<int64_t>(v.contents->size())) || !product(*v.shape).is_constant(),
              "value '", v.name, "' of shape ", str(*v.shape), " has ", v.contents->size(), " known elements");
}

/// Every value that is read must be an input, a constant or the output of a node. The names of these values
/// must be unique.
void verify_uses(const Graph& g, const std::set<ValueId>& inputs) {
  std::set<std::string> names;
  std::set<ValueId> used(inputs);
  const auto defined = [&](ValueId v, const std::string& where) {
    GCG_CHECK(inputs.count(v) != 0 || g.value(v).is_constant() || g.value(v).producer.valid(), where, " reads value '",
              g.value(v).name, "', which nothing defines");
    used.insert(v);
  };
  for (NodeId id : g.order()) {  // fails on a cycle
    for (ValueId in : g.node(id).inputs)
      if (in.valid()) defined(in, node_text(g.node(id)));
    for (ValueId out : g.node(id).outputs)
      if (out.valid()) used.insert(out);
  }
  for (ValueId out : g.outputs) defined(out, concat("graph '", g.name, "'"));
  for (ValueId v : used)
    GCG_CHECK(names.insert(g.value(v).name).second, "two values of graph '", g.name, "' are called '", g.value(v).name,
              "'");
}

/// A subgraph shares the memory of its inputs and outputs with the graph around it, so they are stored in their own
/// types.
void verify_body_ends(const Graph& body) {
  const auto verify = [&](ValueId end) {
    const Value& v = body.value(end);
    GCG_CHECK(v.is_constant() || v.stored == DType::undefined, "value '", v.name, "', an input or output of the body '",
              body.name, "', is stored as ", name_of(v.stored));
  };
  for (ValueId in : body.inputs) verify(in);
  for (ValueId out : body.outputs) verify(out);
}

void verify_structure(const Graph& g) {
  for (ValueId in : g.inputs) check_id(g, in, "an input");
  for (ValueId out : g.outputs) check_id(g, out, "an output");
  for (const State& s : g.states)
    GCG_CHECK(s.input < g.inputs.size() && (!is_written(s) || s.output < g.outputs.size()), "state '", s.name,
              "' of graph '", g.name, "' names input ", s.input, " and output ", s.output);
  const std::set<ValueId> inputs(g.inputs.begin(), g.inputs.end());
  GCG_CHECK(inputs.size() == g.inputs.size(), "graph '", g.name, "' lists an input twice");
  for (int64_t i = 0; i < g.node_count(); ++i)
    if (!g.node(NodeId(i)).erased) verify_node(g, NodeId(i));
  for (int64_t i = 0; i < g.value_count(); ++i) {
    verify_value(g, ValueId(i), inputs);
    const Value& v = g.value(ValueId(i));
    const bool may_round = v.dtype == DType::f32 && (v.stored == DType::f16 || v.stored == DType::bf16);
    GCG_CHECK(v.stored == DType::undefined || may_round, "value '", v.name, "' of ", name_of(v.dtype), " is stored as ",
              name_of(v.stored));
    const bool may_reorder = v.shape && v.shape->size() >= 3 && v.producer.valid() && !g.is_output(ValueId(i)) &&
                             g.node(v.producer).op->kind != OpKind::view;
    GCG_CHECK(!v.channels_last || may_reorder, "value '", v.name, "' cannot be stored channels last");
  }
  verify_uses(g, inputs);
  for (int64_t i = 0; i < g.node_count(); ++i) {
    const Node& n = g.node(NodeId(i));
    for (const auto& body : n.bodies) {
      verify_structure(*body);
      verify_body_ends(*body);
      GCG_CHECK(static_cast<int>(body->inputs.size()) >= n.captures, node_text(n), ": a body lacks inputs for ",
                n.captures, " captured values");
    }
  }
}

/// True if two types contradict each other. A less complete type does not contradict.
bool contradicts(const Value& a, const Value& b) {
  if (a.dtype != DType::undefined && b.dtype != DType::undefined && a.dtype != b.dtype) return true;
  if (!a.shape || !b.shape) return false;
  if (a.shape->size() != b.shape->size()) return true;
  for (size_t d = 0; d < a.shape->size(); ++d)
    if ((*a.shape)[d].is_constant() && (*b.shape)[d].is_constant() && (*a.shape)[d] != (*b.shape)[d]) return true;
  return false;
}

void verify_types(const Graph& g, const Graph& inferred) {
  for (int64_t i = 0; i < g.value_count(); ++i) {
    const Value &v = g.value(ValueId(i)), &w = inferred.value(ValueId(i));
    if (!v.producer.valid()) continue;
    GCG_CHECK(!contradicts(v, w), "value '", v.name, "' of ", node_text(g.node(v.producer)), " has the type ",
              name_of(v.dtype), v.shape ? str(*v.shape) : "[?]", ", inference says ", name_of(w.dtype),
              w.shape ? str(*w.shape) : "[?]");
  }
}

}  // namespace

void verify_graph(const Graph& graph) {
  verify_structure(graph);
  Graph inferred = graph.clone();
  infer_graph(inferred);
  verify_types(graph, inferred);
}

}  // namespace gcg
