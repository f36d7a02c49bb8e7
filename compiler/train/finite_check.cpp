#include "compiler/train/finite_check.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/optimizers.h"
#include "compiler/support/error.h"
#include "compiler/train/gradient_norm.h"

namespace gcg {
namespace {

constexpr const char* kName = "check=finite";  // name of the check's nodes, for the error message

Formula is_finite(Formula x) { return compare("Less", unary("Abs", x), std::numeric_limits<double>::infinity()); }

/// A subgraph whose inputs are values of the outer graph.
std::unique_ptr<Graph> body_of(const Graph& outer, const std::vector<ValueId>& captured) {
  auto body = std::make_unique<Graph>();
  body->name = kName;
  for (ValueId v : captured) {
    Value input;
    input.name = outer.value(v).name;
    input.dtype = outer.value(v).dtype;
    input.shape = outer.value(v).shape;
    body->inputs.push_back(body->add_value(std::move(input)));
  }
  return body;
}

class FiniteCheck {
 public:
  explicit FiniteCheck(Graph& outermost) : outermost_(outermost) {}

  /// The result is the first captured value if `condition` holds in a run. Otherwise it is the value that
  /// `otherwise` computes from the captured values.
  template <class Otherwise>
  ValueId unless(Graph& graph, ValueId condition, const std::vector<ValueId>& captured, Otherwise otherwise) {
    std::unique_ptr<Graph> passes = body_of(graph, captured), fails = body_of(graph, captured);
    FormulaWriter w(*passes, outermost_, kName);
    passes->outputs = {w.make("Identity", {w.of(passes->inputs[0])}).id};
    fails->outputs = {otherwise(*fails)};
    Node branch;
    branch.op = &op("If");
    branch.name = kName;
    branch.inputs = {condition};
    branch.inputs.insert(branch.inputs.end(), captured.begin(), captured.end());
    branch.captures = static_cast<int>(captured.size());
    branch.bodies.push_back(std::move(passes));
    branch.bodies.push_back(std::move(fails));
    Value result;
    result.name = graph.value(captured[0]).name;
    branch.outputs = {graph.add_value(std::move(result))};
    const NodeId id = graph.add_node(std::move(branch));
    infer_node(graph, id, outermost_);
    return graph.node(id).outputs[0];
  }

  /// A node that ends the run with an error. Its result takes the place of `passed`, so that types fit.
  ValueId failure(Graph& graph, ValueId passed, const std::string& tensor) {
    FormulaWriter w(graph, outermost_, kName);
    const Value& value = graph.value(passed);
    const std::string message = concat(tensor, " is NaN or infinite; the states keep their values");
    std::vector<std::string> extents;
    for (const Dim& d : *value.shape) extents.push_back(d.str());
    return w
        .results(op("Fail", "gart"), {w.of(passed)},
                 {{"message", message},
                  {"passes", int64_t{1}},  // the result is the operand
                  {"dtypes", std::vector<int64_t>{static_cast<int64_t>(value.dtype)}},
                  {"ranks", std::vector<int64_t>{static_cast<int64_t>(extents.size())}},
                  {"extents", extents}},
                 1)[0]
        .id;
  }

 private:
  Graph& outermost_;
};

/// A tensor, and a float scalar that is finite if and only if all elements of the tensor are.
struct CheckedTensor {
  Formula measure;
  std::string name;  // for the error message
};

/// Output 0 passes through a check of the condition. If it does not hold, the error names the first tensor whose
/// measure is not finite, or else the last tensor.
void check_tensors(Graph& graph, Formula condition, const std::vector<CheckedTensor>& tensors) {
  const ValueId output = graph.outputs[0];
  std::vector<ValueId> captured = {output};
  for (const CheckedTensor& tensor : tensors) captured.push_back(tensor.measure.id);
  FiniteCheck check(graph);
  const ValueId checked = check.unless(graph, condition.id, captured, [&](Graph& body) {
    FormulaWriter inside(body, graph, kName);
    const std::vector<ValueId> inputs = body.inputs;
    ValueId passed = inputs[0];
    for (size_t i = 0; i + 1 < tensors.size(); ++i)
      passed = check.unless(body, is_finite(inside.of(inputs[i + 1])).id, {passed},
                            [&](Graph& deepest) { return check.failure(deepest, deepest.inputs[0], tensors[i].name); });
    return check.failure(body, passed, tensors.back().name);
  });
  std::swap(graph.value(output).name, graph.value(checked).name);  // the output keeps its name
  graph.outputs[0] = checked;
}

/// Names of tensors of a step, by value: each value once, under its first name.
std::vector<std::pair<ValueId, std::string>> tensors_of_step(const Graph& graph) {
  std::vector<std::pair<ValueId, std::string>> found;
  const auto add = [&](ValueId v, const std::string& name) {
    const bool is_new = std::none_of(found.begin(), found.end(), [&](const auto& other) { return other.first == v; });
    if (is_new && is_float(graph.value(v).dtype)) found.emplace_back(v, name);
  };
  std::set<size_t> updates;
  for (const State& s : graph.states) updates.insert(s.output);
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    if (updates.count(i) == 0) add(graph.outputs[i], concat("output '", graph.value(graph.outputs[i]).name, "'"));
  for (NodeId id : graph.order())
    for (ValueId g : optimizer_gradients(graph.node(id))) add(g, concat("gradient '", graph.value(g).name, "'"));
  for (const State& s : graph.states)
    if (is_written(s)) add(graph.outputs[s.output], concat("the new value of '", s.name, "'"));
  return found;
}

}  // namespace

Formula finite_measure(FormulaWriter& w, ValueId v) {
  const Formula x = w.of(v), infinity = w.scalar(DType::f32, std::numeric_limits<double>::infinity());
  return w.make("ReduceSum", {choose(is_finite(x), 0.0, infinity)}, {{"keepdims", int64_t{0}}});
}

void check_finite(Graph& graph, const std::vector<TrainedParameter>& parameters, ValueId scale) {
  FormulaWriter w(graph, graph, kName);
  std::vector<Formula> sums = square_sums(w, parameters);
  if (scale.valid()) {
    const Formula is_scaled = compare("Greater", w.of(scale), 1);
    for (Formula& sum : sums) sum = choose(is_scaled, 0.0, sum);
  }
  const Formula loss = w.of(graph.outputs[0]), norm = norm_of(sums);
  std::vector<CheckedTensor> tensors = {{loss, "the loss"}};
  for (size_t i = 0; i < sums.size(); ++i)
    tensors.push_back({sums[i], concat("the norm of the gradient of '", graph.value(parameters[i].value).name, "'")});
  tensors.emplace_back(norm, "the norm of all gradients");
  check_tensors(graph, w.make("And", {is_finite(loss), is_finite(norm)}), tensors);
}

void check_finite_step(Graph& graph) {
  FormulaWriter w(graph, graph, kName);
  std::vector<CheckedTensor> tensors;
  Formula all;
  for (const auto& [v, name] : tensors_of_step(graph)) {
    const Formula measure = finite_measure(w, v);
    all = all.valid() ? all + measure : measure;
    tensors.push_back({measure, name});
  }
  if (tensors.empty()) return;
  const Value& output = graph.value(graph.outputs[0]);
  if (!output.shape) fail("--check-finite: the rank of output '", output.name, "' of the training step is not known");
  check_tensors(graph, is_finite(all), tensors);
}

}  // namespace gcg
