#include "compiler/train/phases.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/ops.h"
#include "compiler/partition/write_extents.h"
#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/support/error.h"
#include "compiler/train/formula.h"

namespace gcg {
namespace {

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> all;
  for (ValueId in : graph.inputs)
    for (const Dim& extent : *graph.value(in).shape) all.merge(extent.symbols());
  return all;
}

class Splitter {
 public:
  explicit Splitter(const Graph& step) : step_(step), depth_(static_cast<size_t>(step.value_count()), 0) {
    for (NodeId id : step.order()) {
      const Node& node = step.node(id);
      size_t depth = 0;
      for (ValueId in : node.inputs)
        if (in.valid()) depth = std::max(depth, depth_of(in));
      if (is_exchange(node)) exchanges_.try_emplace(node.outputs[0], exchanges_.size()), ++depth;
      for (ValueId out : node.outputs)
        if (out.valid()) depth_[static_cast<size_t>(out.index)] = depth;
      phases_ = std::max(phases_, depth + 1);
    }
    for (symbol_ = "replicas"; symbols_of(step).count(symbol_) != 0;) symbol_ += '_';
  }

  std::vector<Graph> run() {
    std::vector<Phase> phases(phases_);
    for (ValueId out : step_.outputs) want(phases, out);
    for (const auto& [sum, number] : exchanges_) phases[depth_of(share_of(sum))].exchanged.push_back(sum);
    std::vector<Graph> graphs;
    for (size_t p = phases_; p-- > 0;) {
      find_inputs(phases, p);
      graphs.push_back(graph_of(phases[p], p));
    }
    std::reverse(graphs.begin(), graphs.end());
    return graphs;
  }

 private:
  struct Phase {
    std::vector<ValueId> wanted;     // values that are outputs of the step, or inputs of later phases
    std::vector<ValueId> exchanged;  // sums of which the phase makes the shares
    std::set<ValueId> inputs;        // of the step, and values of earlier phases
    std::vector<ValueId> sums;       // sums that it reads
  };

  static bool is_exchange(const Node& node) { return node.op == &op_gart_Exchange; }
  size_t depth_of(ValueId v) const { return depth_[static_cast<size_t>(v.index)]; }
  ValueId share_of(ValueId sum) const { return step_.node(step_.value(sum).producer).inputs[0]; }

  void want(std::vector<Phase>& phases, ValueId v) const {
    std::vector<ValueId>& wanted = phases[depth_of(v)].wanted;
    if (std::find(wanted.begin(), wanted.end(), v) == wanted.end()) wanted.push_back(v);
  }

  /// Finds the values that phase p reads. Values that follow from extents are computed again.
  void find_inputs(std::vector<Phase>& phases, size_t p) const {
    Phase& phase = phases[p];
    std::vector<ValueId> open = phase.wanted;
    for (ValueId sum : phase.exchanged) open.push_back(share_of(sum));
    std::set<ValueId> seen(open.begin(), open.end());
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const Value& value = step_.value(v);
      if (value.is_constant()) continue;
      if (exchanges_.count(v) != 0) {
        phase.sums.push_back(v);
      } else if (!value.producer.valid()) {
        phase.inputs.insert(v);
      } else if (depth_of(v) < p && !follows_from_extents(value)) {
        phase.inputs.insert(v);
        want(phases, v);
      } else {
        for (ValueId in : step_.node(value.producer).inputs)
          if (in.valid() && seen.insert(in).second) open.push_back(in);
      }
    }
  }

  Graph graph_of(const Phase& phase, size_t p) const {
    Graph graph = step_.clone();
    if (p > 0) graph.name = concat(step_.name, ".", p);
    graph.inputs.clear();
    for (ValueId in : step_.inputs)
      if (phase.inputs.count(in) != 0) graph.inputs.push_back(in);
    for (ValueId v : phase.inputs)
      if (step_.value(v).producer.valid()) make_input(graph, v);
    for (ValueId sum : phase.sums) add_shares(graph, sum);
    graph.outputs = phase.wanted;
    for (ValueId sum : phase.exchanged) {
      FormulaWriter named(graph, graph, concat(kPartial, ".", exchanges_.at(sum)));
      graph.outputs.push_back(named.make("Identity", {named.of(share_of(sum))}).id);
    }
    eliminate_dead_code(graph);
    keep_known_constraints(graph);
    return graph;
  }

  /// The value of an earlier phase becomes an input. Its producer gets another output, which nothing reads.
  static void make_input(Graph& graph, ValueId v) {
    const NodeId producer = graph.value(v).producer;
    Value copy = graph.value(v);
    for (ValueId& out : graph.node(producer).outputs)
      if (out == v) out = graph.add_value(std::move(copy));
    graph.value(v).producer = NodeId();
    graph.inputs.push_back(v);
  }

  /// Turns the exchange into a sum over the shares, which are an input.
  void add_shares(Graph& graph, ValueId sum) const {
    const Value& like = graph.value(sum);
    Value shares;
    shares.name = concat(kExchanged, ".", exchanges_.at(sum));
    shares.dtype = like.dtype;
    shares.shape = Shape{Dim::symbol(symbol_)};
    shares.shape->insert(shares.shape->end(), like.shape->begin(), like.shape->end());
    const ValueId input = graph.add_value(std::move(shares));
    graph.inputs.push_back(input);
    const ValueId axes = graph.add_constant(concat(kExchanged, ".axes"), Tensor::vector_i64({0}));
    Node& node = graph.node(graph.value(sum).producer);
    node.op = &op("ReduceSum");
    node.inputs = {input, axes};
    node.attributes = {{"keepdims", int64_t{0}}};
  }

  /// Facts about extents that this phase does not see are checked by others.
  static void keep_known_constraints(Graph& graph) {
    const std::set<std::string> known = symbols_of(graph);
    std::erase_if(graph.constraints, [&](const DimConstraint& fact) {
      std::set<std::string> named = fact.a.symbols();
      named.merge(fact.b.symbols());
      return !std::includes(known.begin(), known.end(), named.begin(), named.end());
    });
  }

  const Graph& step_;
  std::vector<size_t> depth_;            // by value: the number of exchanges before it
  std::map<ValueId, size_t> exchanges_;  // by exchanged value: its number
  size_t phases_ = 1;
  std::string symbol_;  // the number of replicas
};

}  // namespace

std::vector<Graph> split_at_exchanges(const Graph& step) { return Splitter(step).run(); }

void drop_exchanges(Graph& step) {
  for (NodeId id : step.order())
    if (step.node(id).op == &op_gart_Exchange) step.node(id).op = &op("Identity");
}

}  // namespace gcg
