#include "compiler/train/loss.h"

#include <algorithm>

#include "compiler/ops/op_support.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"
#include "compiler/train/formula.h"

namespace gcg {
namespace {

std::string type_text(DType dtype, const Shape& shape) { return concat(name_of(dtype), str(shape)); }

/// The value with this name that a node makes or that is an input; invalid if there is none.
ValueId find_value(const Graph& graph, const std::string& name, std::vector<std::string>& names) {
  const auto see = [&](ValueId v) {
    if (!v.valid()) return false;
    names.push_back(graph.value(v).name);
    return names.back() == name;
  };
  for (ValueId in : graph.inputs)
    if (see(in)) return in;
  for (NodeId id : graph.order())
    for (ValueId out : graph.node(id).outputs)
      if (see(out)) return out;
  return {};
}

class LossWriter {
 public:
  LossWriter(Graph& graph, const LossOptions& options)
      : options_(options), w_(graph, graph, "training.loss"), prediction_(w_.of(graph.outputs[0])) {}

  Formula loss() {
    if (options_.function.empty()) return the_value();
    if (!is_float(prediction_.dtype()))
      fail("--train: '", options_.arguments[0].name, "' is ", type_text(prediction_.dtype(), prediction_.shape()),
           ", the loss ", options_.function, " needs floats");
    if (options_.function == "cross_entropy") return cross_entropy();
    const Formula x = prediction_, t = target(x.dtype(), x.shape());
    if (options_.function == "bce_with_logits") return mean_of(unary("Softplus", x) - x * t);
    const Formula difference = x - t;
    return mean_of(options_.function == "l1" ? unary("Abs", difference) : difference * difference);
  }

 private:
  Formula mean_of(Formula x) { return w_.make("ReduceMean", {x}, {{"keepdims", int64_t{0}}}); }

  Formula the_value() {
    if (!is_float(prediction_.dtype()) || !product(prediction_.shape()).is(1))
      fail("--train: the loss '", options_.arguments[0].name, "' is ",
           type_text(prediction_.dtype(), prediction_.shape()), ", it must be a float of one element");
    return reshape(prediction_, std::vector<int64_t>());
  }

  /// The mean of -log(softmax(scores)[label]), for scores [N, classes, ...] and labels [N, ...].
  Formula cross_entropy() {
    const int64_t rank = prediction_.rank();
    if (rank < 2 || options_.axis < -rank || options_.axis >= rank)
      fail("--train: the classes of cross_entropy are on axis ", options_.axis, ", and '", options_.arguments[0].name,
           "' is ", type_text(prediction_.dtype(), prediction_.shape()));
    const int64_t axis = wrap_axis(options_.axis, rank);
    const Formula scores = move_axis(prediction_, axis, 1);
    Shape shape = scores.shape();
    shape.erase(shape.begin() + 1);
    const Formula labels = target(DType::i64, shape);
    if (!is_int(labels.dtype()))
      fail("--train: the labels '", options_.arguments[1].name, "' are ", name_of(labels.dtype()),
           ", they must be integers");
    const Formula log = w_.make("LogSoftmax", {scores}, {{"axis", int64_t{1}}});
    return w_.make("NegativeLogLikelihoodLoss", {log, labels}, {{"ignore_index", options_.ignored_label}});
  }

  /// The second argument: a new input, or a value of the model.
  Formula target(DType dtype, const Shape& shape) {
    const LossArgument& argument = options_.arguments[1];
    std::vector<std::string> names;
    const ValueId known = find_value(w_.graph(), argument.name, names);
    if (known.valid() && argument.dtype)
      fail("--train: the model has a value '", argument.name, "' already, so it cannot be a new input");
    const Formula found = known.valid() ? w_.of(known) : new_input(argument, dtype, shape);
    const Shape& found_shape = found.shape();
    bool fits = found_shape.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d)
      fits = found_shape[d] == shape[d] || !found_shape[d].is_constant() || !shape[d].is_constant();
    if (!fits)
      fail("--train: '", argument.name, "' is ", type_text(found.dtype(), found_shape), ", and the loss ",
           options_.function, " of '", options_.arguments[0].name, "' needs extents ", str(shape),
           options_.function == "cross_entropy" ? " (its option axis says where the classes are)" : "");
    return found.shape() == shape ? found : reshape(found, shape_of_target(shape));
  }

  /// The extents that the target must have, checked during the run.
  Formula shape_of_target(const Shape& shape) {
    if (is_static(shape)) return w_.ints(to_extents(shape));
    if (options_.function != "cross_entropy") return shape_of(prediction_);
    const Formula scores = move_axis(prediction_, wrap_axis(options_.axis, prediction_.rank()), 1);
    if (scores.rank() == 2) return extents_of(scores, 0, 1);
    return join({extents_of(scores, 0, 1), extents_of(scores, 2, scores.rank())}, 0);
  }

  Formula new_input(const LossArgument& argument, DType dtype, const Shape& shape) {
    Value value;
    value.name = argument.name;
    value.dtype = argument.dtype.value_or(dtype);
    value.shape = argument.dtype ? argument.shape : shape;
    const ValueId id = w_.graph().add_value(std::move(value));
    w_.graph().inputs.push_back(id);
    return w_.of(id);
  }

  const LossOptions& options_;
  FormulaWriter w_;
  const Formula prediction_;
};

}  // namespace

void keep_loss_argument(Graph& graph, const LossOptions& options) {
  std::vector<std::string> names;
  const std::string& name = options.arguments[0].name;
  const ValueId value = find_value(graph, name, names);
  if (!value.valid()) fail("--train: the model has no value '", name, "'", nearest(name, names));
  graph.outputs = {value};
}

void add_loss(Graph& graph, const LossOptions& options) {
  FormulaWriter named(graph, graph, "loss");
  const Formula loss = LossWriter(graph, options).loss();
  graph.outputs[0] = named.make("Identity", {loss}).id;
}

}  // namespace gcg
