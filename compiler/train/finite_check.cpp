#include "compiler/train/finite_check.h"

#include <limits>
#include <memory>
#include <utility>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
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

  /// The result is the loss, which is the first captured value, if `condition` holds in a run. Otherwise it is the
  /// value that `otherwise` computes from the captured values.
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

  /// A node that ends the run with an error. Its result takes the place of the loss, so that types fit.
  ValueId failure(Graph& graph, ValueId loss, const std::string& tensor) {
    FormulaWriter w(graph, outermost_, kName);
    const std::string message = concat(tensor, " is NaN or infinite; the states keep their values");
    const int64_t dtype = static_cast<int64_t>(graph.value(loss).dtype);
    return w
        .results(op("Fail", "gart"), {w.of(loss)},
                 {{"message", message},
                  {"passes", int64_t{1}},  // the result is the loss
                  {"dtypes", std::vector<int64_t>{dtype}},
                  {"ranks", std::vector<int64_t>{0}},
                  {"extents", std::vector<std::string>()}},
                 1)[0]
        .id;
  }

 private:
  Graph& outermost_;
};

}  // namespace

void check_finite(Graph& graph, const std::vector<TrainedParameter>& parameters) {
  FormulaWriter w(graph, graph, kName);
  const std::vector<Formula> sums = square_sums(w, parameters);
  const Formula loss = w.of(graph.outputs[0]), norm = norm_of(sums);
  const Formula condition = w.make("And", {is_finite(loss), is_finite(norm)});
  std::vector<ValueId> captured = {loss.id};
  for (const Formula& sum : sums) captured.push_back(sum.id);
  std::vector<std::string> tensors = {"the loss"};
  for (const TrainedParameter& p : parameters)
    tensors.push_back(concat("the norm of the gradient of '", graph.value(p.value).name, "'"));
  FiniteCheck check(graph);
  const ValueId checked = check.unless(graph, condition.id, captured, [&](Graph& body) {
    FormulaWriter inside(body, graph, kName);
    const std::vector<ValueId> inputs = body.inputs;
    ValueId passed = inputs[0];
    for (size_t i = 0; i < inputs.size(); ++i)
      passed = check.unless(body, is_finite(inside.of(inputs[i])).id, {passed},
                            [&](Graph& deepest) { return check.failure(deepest, deepest.inputs[0], tensors[i]); });
    return check.failure(body, passed, "the norm of all gradients");
  });
  std::swap(graph.value(loss.id).name, graph.value(checked).name);  // the output keeps its name
  graph.outputs[0] = checked;
}

}  // namespace gcg
