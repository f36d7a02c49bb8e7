#include "compiler/passes/grow_scan_outputs.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/control_types.h"
#include "compiler/ops/data_extent.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/forget_symbols.h"

namespace gcg {
namespace {

bool is_own_symbol(const Node& n, const Dim& d) {
  const std::vector<std::string> node_symbols = n.strings_attribute(kSymbolsAttribute);
  const auto name = d.symbol_name();
  return name && std::find(node_symbols.begin(), node_symbols.end(), *name) != node_symbols.end();
}

/// True if output `o` has an unknown number of rows, and all rows have the same, known extents.
bool grows(const Graph& graph, const Node& n, size_t o) {
  if (!n.outputs[o].valid()) return false;
  const Shape& shape = *graph.value(n.outputs[o]).shape;
  return is_own_symbol(n, shape[0]) &&
         std::none_of(shape.begin() + 1, shape.end(), [&](const Dim& d) { return is_own_symbol(n, d); });
}

/// A tensor with zero rows.
ValueId nothing(Graph& graph, const std::string& name, DType dtype, const Shape& row) {
  NodeBuilder b(graph, name);
  std::vector<ValueId> extents = {b.ints({0})};
  for (const Dim& d : row) {
    Node n = dim_value_node(name, d);
    Value v;
    v.name = graph.unique_name(name + ".extent");
    n.outputs = {graph.add_value(std::move(v))};
    extents.push_back(n.outputs[0]);
    graph.add_node(std::move(n));
    extents.back() = b.unsqueeze(extents.back(), 0);
  }
  return b.node("ConstantOfShape", {b.concat(extents, 0)},
                {{"value", std::make_shared<const Tensor>(Tensor(dtype, {1}))}});
}

/// Turns a number into an extent, for which inference has a symbol.
ValueId as_extent(NodeBuilder& b, ValueId count) {
  const ValueId range = b.node("Range", {b.constant(Tensor::scalar_i64(0)), count, b.constant(Tensor::scalar_i64(1))});
  return b.element(b.node("Shape", {range}), 0, 0);
}

ValueId scalar(NodeBuilder& b, ValueId v) { return b.node("Reshape", {v, b.ints({})}); }

/// For a loop that always runs all its iterations: makes the trip count an extent.
void set_trip_count(Graph& graph, NodeId id) {
  NodeBuilder b(graph, graph.node(id).name);
  const ValueId most = graph.node(id).inputs[0], condition = graph.node(id).inputs[1];
  ValueId turns = scalar(b, most);
  if (condition.valid())
    turns = b.multiply(turns, b.node("Cast", {scalar(b, condition)}, {{"to", dtype_to_onnx(DType::i64)}}));
  turns = as_extent(b, turns);
  graph.node(id).inputs[0] = turns;
  graph.node(id).inputs[1] = ValueId();
}

/// Removes unread scan outputs and their rows.
void drop_unread(Node& n, size_t carried) {
  for (size_t o = n.outputs.size(); o-- > carried;) {
    if (n.outputs[o].valid()) continue;
    n.outputs.erase(n.outputs.begin() + static_cast<std::ptrdiff_t>(o));
    n.bodies[0]->outputs.erase(n.bodies[0]->outputs.begin() + static_cast<std::ptrdiff_t>(1 + o));
  }
  n.bodies[0]->outputs.resize(1 + n.outputs.size());
}

/// Runs a loop in chunks of iterations, if a condition ends it.
class Chunks {
 public:
  Chunks(Graph& graph, NodeId id) : graph_(graph), id_(id), name_(graph.node(id).name) {
    Node& n = graph.node(id);
    captures_ = static_cast<size_t>(n.captures);
    carried_ = n.inputs.size() - 2 - captures_;
    n.outputs.resize(std::max(n.outputs.size(), carried_));
    drop_unread(n, carried_);
    rows_ = n.outputs.size() - carried_;
    limited_ = n.inputs[0].valid();
  }

  void run() {
    NodeBuilder b(graph_, name_);
    std::vector<ValueId> nothing_yet;
    for (size_t k = 0; k < rows_; ++k) {
      const Value& type = graph_.value(graph_.node(id_).outputs[carried_ + k]);
      nothing_yet.push_back(nothing(graph_, name_, type.dtype, {type.shape->begin() + 1, type.shape->end()}));
    }
    const std::vector<ValueId> inputs = graph_.node(id_).inputs;
    const ValueId most = limited_ ? scalar(b, inputs[0]) : ValueId(), zero = b.constant(Tensor::scalar_i64(0));
    ValueId start = inputs[1].valid() ? scalar(b, inputs[1]) : ValueId();
    if (limited_) start = both(b, start, b.node("Greater", {most, zero}));

    Node& n = graph_.node(id_);
    std::unique_ptr<Graph> body = std::move(n.bodies[0]);
    n.inputs = {ValueId(), start, zero};
    n.inputs.insert(n.inputs.end(), inputs.begin() + 2, inputs.end() - static_cast<std::ptrdiff_t>(captures_));
    n.inputs.insert(n.inputs.end(), nothing_yet.begin(), nothing_yet.end());
    n.inputs.insert(n.inputs.end(), inputs.end() - static_cast<std::ptrdiff_t>(captures_), inputs.end());
    if (limited_) n.inputs.push_back(most);
    n.captures = static_cast<int>(captures_ + (limited_ ? 1 : 0));
    n.bodies[0] = chunk(std::move(body), n.inputs.size());
    n.outputs.insert(n.outputs.begin(), ValueId());
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i].valid()) graph_.value(n.outputs[i]).output_index = static_cast<int>(i);
  }

 private:
  static constexpr int64_t kFirst = 64;  // iterations of the first chunk; each later chunk doubles the total

  static ValueId both(NodeBuilder& b, ValueId a, ValueId c) { return a.valid() ? b.node("And", {a, c}) : c; }

  static ValueId add(Graph& graph, const char* name) {
    Value v;
    v.name = graph.unique_name(name);
    return graph.add_value(std::move(v));
  }

  /// The subgraph of the loop over chunks. It has `inputs` inputs: iteration, condition, count, carried values, rows so
  /// far, captures.
  std::unique_ptr<Graph> chunk(std::unique_ptr<Graph> body, size_t inputs) {
    auto graph = std::make_unique<Graph>();
    graph->name = body->name;
    for (size_t i = 0; i < inputs; ++i) graph->inputs.push_back(add(*graph, "in"));
    const ValueId count = graph->inputs[2];
    const auto states = graph->inputs.begin() + 3, so_far = states + static_cast<std::ptrdiff_t>(carried_),
               captures = so_far + static_cast<std::ptrdiff_t>(rows_);
    NodeBuilder b(*graph, name_);
    Node turns;
    turns.op = &op_Loop;
    turns.name = name_;
    turns.attributes[kAllRowsAttribute] = int64_t{1};
    turns.inputs = {as_extent(b, b.node("Max", {count, b.constant(Tensor::scalar_i64(kFirst))})), ValueId(), count,
                    b.constant(Tensor::from<uint8_t>(DType::boolean, {}, {1}))};
    turns.inputs.insert(turns.inputs.end(), states, so_far);
    turns.inputs.insert(turns.inputs.end(), captures, graph->inputs.end());
    turns.captures = static_cast<int>(graph->inputs.end() - captures);
    count_iterations(*body);
    turns.bodies.push_back(std::move(body));
    for (size_t i = 0; i < 2 + carried_ + rows_; ++i) turns.outputs.push_back(add(*graph, "out"));
    const std::vector<ValueId> loop_outputs = turns.outputs;
    std::vector<ValueId> before(so_far, captures);
    graph->add_node(std::move(turns));
    graph->outputs = {loop_outputs[1], loop_outputs[0]};
    graph->outputs.insert(graph->outputs.end(), loop_outputs.begin() + 2,
                          loop_outputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried_));
    const ValueId done = b.unsqueeze(b.subtract(loop_outputs[0], count), 0);
    for (size_t k = 0; k < rows_; ++k) {
      const ValueId rows = b.node("Slice", {loop_outputs[2 + carried_ + k], b.ints({0}), done, b.ints({0})});
      graph->outputs.push_back(b.concat({before[k], rows}, 0));
    }
    return graph;
  }

  /// Makes the original subgraph also carry the number of iterations so far and whether the loop continues. Its last
  /// capture is the limit.
  void count_iterations(Graph& body) {
    NodeBuilder b(body, name_);
    const ValueId number = body.inputs[0];  // the iteration number, counted from the start of the first chunk
    body.inputs[0] = add(body, "turn");
    body.inputs.insert(body.inputs.begin() + 2, {number, add(body, "went_on")});
    const ValueId next = b.add(number, b.constant(Tensor::scalar_i64(1)));
    ValueId goes_on = scalar(b, body.outputs[0]);
    if (limited_) {
      body.inputs.push_back(add(body, "most"));
      goes_on = both(b, goes_on, b.node("Less", {next, body.inputs.back()}));
    }
    body.outputs[0] = goes_on;
    body.outputs.insert(body.outputs.begin() + 1, {next, b.node("Identity", {goes_on})});
  }

  Graph& graph_;
  NodeId id_;
  std::string name_;
  size_t carried_ = 0, captures_ = 0, rows_ = 0;
  bool limited_ = false;
};

bool ends_early(const Node& n) {
  const Value& again = n.bodies[0]->value(n.bodies[0]->outputs[0]);
  const bool goes_on =
      again.is_constant() ? again.constant->at_int(0) != 0 : again.contents && again.contents->front().is(1);
  return !goes_on || !n.inputs[0].valid();
}

/// `replaced`: the symbols of replaced loops. The same names may have another meaning in the new loops.
bool grow_all(Graph& graph, std::set<std::string>& replaced) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= grow_all(*graph.node(id).bodies[i], replaced);
    if (graph.node(id).op != &op_Loop) continue;
    const Node& n = graph.node(id);
    const size_t carried = n.bodies[0]->inputs.size() - 2 - static_cast<size_t>(n.captures);
    bool all = true, any = false;
    for (size_t o = carried; o < n.outputs.size(); ++o) {
      if (!n.outputs[o].valid()) continue;
      any = true;
      all &= grows(graph, n, o);
    }
    if (!any || !all) continue;
    for (const std::string& symbol : n.strings_attribute(kSymbolsAttribute)) replaced.insert(symbol);
    if (ends_early(n))
      Chunks(graph, id).run();
    else
      set_trip_count(graph, id);
    changed = true;
  }
  return changed;
}

}  // namespace

bool grow_scan_outputs(Graph& graph) {
  std::set<std::string> replaced;
  const bool changed = grow_all(graph, replaced);
  if (changed) {
    forget_symbols(graph, replaced);
    infer_graph(graph);
  }
  return changed;
}

}  // namespace gcg
