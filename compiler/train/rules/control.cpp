// Gradients of If and Loop. New nodes run their subgraphs again, followed by the gradients of the subgraphs.
//
// Loop stores the values that each iteration begins with. A second Loop visits the iterations from the last to the
// first. It reads these values, computes the iteration again, and passes on the gradients with respect to carried
// values. Gradients with respect to captured values are summed in this order, so results do not depend on threads. If
// an iteration reads only one row of a captured value, the gradients of the rows are stacked, and added at their
// positions after the loop.
#include <algorithm>

#include "compiler/ops/infer.h"
#include "compiler/passes/inline_body.h"
#include "compiler/train/differentiate.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

/// A subgraph under construction whose inputs are values of the graph around it.
class BodyWriter {
 public:
  BodyWriter(C& c, Graph& body) : c_(c), w_(body, c.outermost(), c.name()) {}

  FormulaWriter& writer() { return w_; }

  /// A new input of the type of this value.
  Formula input(DType dtype, const Shape& shape) {
    Value value;
    value.name = c_.name();
    value.dtype = dtype;
    value.shape = shape;
    const ValueId id = w_.graph().add_value(std::move(value));
    w_.graph().inputs.push_back(id);
    return w_.of(id);
  }
  Formula input(Formula outer) { return input(outer.dtype(), outer.shape()); }

  /// Adds an output, as a value that is neither an input nor a constant.
  void output(Formula value) { w_.graph().outputs.push_back(w_.make("Identity", {value}).id); }

 private:
  C& c_;
  FormulaWriter w_;
};

/// Adds the node with `count` results.
std::vector<Formula> add(C& c, Node node, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Value value;
    value.name = node.name;
    node.outputs.push_back(c.graph().add_value(std::move(value)));
  }
  const NodeId id = c.graph().add_node(std::move(node));
  infer_node(c.graph(), id, c.outermost());
  std::vector<Formula> results;
  for (ValueId out : c.graph().node(id).outputs) results.push_back(c.of(out));
  return results;
}

Formula or_zeros(FormulaWriter& w, ValueId gradient, Formula like) {
  return gradient.valid() ? fit(w.of(gradient), like) : zeros_like(like);
}

/// The operands from `first` on whose gradients are required.
std::vector<size_t> wanted_from(C& c, size_t first) {
  std::vector<size_t> required;
  for (size_t i = first; i < c.operands(); ++i)
    if (c.wants(i)) required.push_back(i);
  return required;
}

void infer_all(Graph& body, Graph& outermost) {
  for (NodeId id : body.order()) infer_node(body, id, outermost);
}

// ---- If: each subgraph returns the gradients with respect to the captured values; zeros for those that it does not
// read

void if_rule(C& c) {
  const std::vector<size_t> required = wanted_from(c, 1);
  Node node;
  node.op = &op("If");
  node.name = c.name();
  node.inputs = c.node().inputs;
  std::vector<size_t> results;
  for (size_t i = 0; i < c.node().outputs.size(); ++i)
    if (c.has_g(i)) results.push_back(i);
  for (size_t i : results) node.inputs.push_back(c.g(i).id);
  node.captures = static_cast<int>(node.inputs.size()) - 1;
  std::vector<Value> types;
  for (size_t i = 1; i < c.operands(); ++i) types.push_back(c.x(i).value());
  for (size_t b = 0; b < 2; ++b) {
    auto body = std::make_unique<Graph>(c.node().bodies[b]->clone());
    infer_body(*body, types, c.outermost());
    BodyWriter writer(c, *body);
    std::vector<ValueId> outputs, gradients, wrt;
    for (size_t i : required) wrt.push_back(body->inputs[i - 1]);
    for (size_t i : results) {
      outputs.push_back(body->outputs[i]);
      gradients.push_back(writer.input(writer.writer().of(outputs.back())).id);
    }
    const std::vector<ValueId> found = differentiate(*body, c.outermost(), outputs, gradients, wrt);
    body->outputs.clear();
    for (size_t k = 0; k < wrt.size(); ++k)
      writer.output(or_zeros(writer.writer(), found[k], writer.writer().of(wrt[k])));
    node.bodies.push_back(std::move(body));
  }
  const std::vector<Formula> gradients = add(c, std::move(node), required.size());
  for (size_t k = 0; k < required.size(); ++k) c.set(required[k], gradients[k]);
}

// ---- Loop

/// The values that each iteration of the forward loop begins with, stacked over the iterations: its number, then the
/// carried values.
struct Tape {
  Formula numbers;
  std::vector<Formula> carried;
};

class LoopGradient {
 public:
  explicit LoopGradient(C& c) : c_(c), carried_(c.node().bodies[0]->inputs.size() - 2 - captures()) {
    for (size_t k = 0; k < carried_; ++k) {
      const Formula before = c.x(2 + k);
      const Value& inside = c.node().bodies[0]->value(c.node().bodies[0]->inputs[2 + k]);
      if (!inside.shape || *inside.shape != before.shape())
        c.fail(
            concat("the extents of its carried value ", k, ", ", str(before.shape()), ", change between iterations"));
    }
    scans_ = c.node().bodies[0]->outputs.size() - 1 - carried_;
  }

  void run() {
    const Tape tape = record();
    Node node;
    node.op = &op("Loop");
    node.name = c_.name();
    node.inputs = {reshape(extents_of(tape.numbers, 0, 1), std::vector<int64_t>()).id, ValueId()};
    auto body = std::make_unique<Graph>();
    body->name = c_.name();
    BodyWriter writer(c_, *body);
    const Formula step = writer.input(DType::i64, {});
    writer.input(DType::boolean, {});
    // The gradient's loop carries gradients with respect to carried floats, then sums of gradients with respect to
    // captured floats.
    std::vector<Formula> by_carried, sums;
    const std::vector<size_t> floats = float_carried();
    std::vector<size_t> required;
    std::vector<ReadRow> rows;
    for (size_t i : wanted_from(c_, 2 + carried_))
      if (const std::optional<NodeId> gather = only_gather(i))
        rows.push_back({i, *gather});
      else
        required.push_back(i);
    for (size_t k : floats) {
      node.inputs.push_back(c_.g(k).id);
      by_carried.push_back(writer.input(c_.x(2 + k)));
    }
    for (size_t i : required) {
      node.inputs.push_back(zeros_like(c_.x(i)).id);
      sums.push_back(writer.input(c_.x(i)));
    }
    const size_t own = node.inputs.size();
    const auto capture = [&](Formula outer) {
      node.inputs.push_back(outer.id);
      return writer.input(outer);
    };
    const Formula last = capture(reshape(extents_of(tape.numbers, 0, 1), std::vector<int64_t>()) - 1);
    Iteration it{writer.writer(), last - step};
    for (const Formula& values : tape.carried) it.carried.push_back(it.row_of(capture(values)));
    for (size_t i = 2 + carried_; i < c_.operands(); ++i) it.captured.push_back(capture(c_.x(i)));
    for (size_t k = 0; k < scans_; ++k)
      it.by_scans.push_back(c_.has_g(carried_ + k) ? it.row_of(capture(c_.g(carried_ + k))) : Formula());
    node.captures = static_cast<int>(node.inputs.size() - own);
    write_iteration(writer, it, floats, by_carried, required, sums, rows);
    node.bodies.push_back(std::move(body));
    const size_t results = floats.size() + required.size() + 2 * rows.size();
    set_gradients(add(c_, std::move(node), results), floats, required, rows);
  }

 private:
  /// One iteration of the gradient's loop.
  struct Iteration {
    FormulaWriter& w;
    Formula number;
    std::vector<Formula> carried, captured, by_scans;

    Formula row_of(Formula stacked) { return w.make("Gather", {stacked, number}, {{"axis", int64_t{0}}}); }
  };

  /// A captured value. Each iteration reads only one of its rows.
  struct ReadRow {
    size_t operand;
    NodeId gather;  // the node in the forward loop's subgraph
  };

  /// Takes the results of the gradient's loop: gradients with respect to carried floats, then to other captured floats,
  /// then rows and their positions.
  void set_gradients(const std::vector<Formula>& gradients, const std::vector<size_t>& floats,
                     const std::vector<size_t>& required, const std::vector<ReadRow>& rows) {
    for (size_t k = 0; k < floats.size(); ++k) c_.set(2 + floats[k], gradients[k]);
    for (size_t k = 0; k < required.size(); ++k) c_.set(required[k], gradients[floats.size() + k]);
    for (size_t k = 0; k < rows.size(); ++k) {
      const size_t at = floats.size() + required.size() + 2 * k;
      const Formula x = c_.x(rows[k].operand);
      c_.set(rows[k].operand, c_.make("ScatterND", {zeros_like(x), gradients[at + 1], gradients[at]},
                                      {{"reduction", std::string("add")}}));
    }
  }

  /// The Gather of one row, if it is the only reader of the operand in the subgraph.
  std::optional<NodeId> only_gather(size_t operand) {
    const Graph& body = *c_.node().bodies[0];
    const ValueId v = body.inputs[operand];
    const std::vector<NodeId> users = body.users()[static_cast<size_t>(v.index)];
    if (users.size() != 1 || body.is_output(v)) return std::nullopt;
    const Node& node = body.node(users[0]);
    if (node.op != &op("Gather") || node.inputs[0] != v || node.int_attribute("axis", 0) != 0) return std::nullopt;
    const auto& index = body.value(node.inputs[1]).shape;
    return index && index->empty() ? std::optional<NodeId>(users[0]) : std::nullopt;
  }

  size_t captures() { return static_cast<size_t>(c_.node().captures); }

  std::vector<size_t> float_carried() {
    std::vector<size_t> floats;
    for (size_t k = 0; k < carried_; ++k)
      if (is_float(c_.x(2 + k).dtype())) floats.push_back(k);
    return floats;
  }

  /// Adds results to the forward loop.
  Tape record() {
    Graph& body = *c_.node().bodies[0];
    FormulaWriter w(body, c_.outermost(), c_.name());
    std::vector<ValueId> stored = {body.inputs[0]};
    stored.insert(stored.end(), body.inputs.begin() + 2,
                  body.inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried_));
    const size_t first = body.outputs.size() - 1;
    for (ValueId v : stored) body.outputs.push_back(w.make("Identity", {w.of(v)}).id);
    Tape tape;
    for (size_t i = 0; i < stored.size(); ++i) {
      const Formula stacked = c_.y(first + i);
      if (i == 0)
        tape.numbers = stacked;
      else
        tape.carried.push_back(stacked);
    }
    return tape;
  }

  /// Computes the iteration again, and then its gradients.
  void write_iteration(BodyWriter& writer, Iteration& it, const std::vector<size_t>& floats,
                       const std::vector<Formula>& by_carried, const std::vector<size_t>& required,
                       const std::vector<Formula>& sums, const std::vector<ReadRow>& rows) {
    const Graph& forward = *c_.node().bodies[0];
    Graph& body = writer.writer().graph();
    std::map<ValueId, ValueId> values = {{forward.inputs[0], it.number.id}};
    Tensor yes(DType::boolean, {});
    yes.set_int(0, 1);
    values[forward.inputs[1]] = it.w.constant(yes).id;
    for (size_t k = 0; k < carried_; ++k) values[forward.inputs[2 + k]] = it.carried[k].id;
    for (size_t i = 0; i < captures(); ++i) values[forward.inputs[2 + carried_ + i]] = it.captured[i].id;
    copy_nodes(forward, forward.order(), body, values);
    infer_all(body, c_.outermost());
    std::vector<ValueId> outputs, gradients, wrt;
    const auto add_output = [&](size_t i, Formula gradient) {
      if (values.count(forward.outputs[i]) == 0) return;  // a constant
      outputs.push_back(values.at(forward.outputs[i]));
      gradients.push_back(gradient.id);
    };
    for (size_t k = 0; k < floats.size(); ++k) add_output(1 + floats[k], by_carried[k]);
    for (size_t k = 0; k < scans_; ++k)
      if (it.by_scans[k].valid()) add_output(1 + carried_ + k, it.by_scans[k]);
    for (size_t k : floats) wrt.push_back(it.carried[k].id);
    for (size_t i : required) wrt.push_back(it.captured[i - 2 - carried_].id);
    for (const ReadRow& row : rows) wrt.push_back(values.at(forward.node(row.gather).outputs[0]));
    const std::vector<ValueId> found = differentiate(body, c_.outermost(), outputs, gradients, wrt);
    writer.output(it.w.constant(yes));
    for (size_t k = 0; k < floats.size(); ++k) writer.output(or_zeros(it.w, found[k], it.carried[floats[k]]));
    for (size_t k = 0; k < required.size(); ++k) {
      const ValueId more = found[floats.size() + k];
      writer.output(more.valid() ? sums[k] + fit(it.w.of(more), sums[k]) : sums[k]);
    }
    for (size_t k = 0; k < rows.size(); ++k) {
      const size_t at = floats.size() + required.size() + k;
      writer.output(or_zeros(it.w, found[at], it.w.of(wrt[at])));
      const ValueId index = forward.node(rows[k].gather).inputs[1];
      writer.output(reshape(cast(it.w.of(values.at(index)), DType::i64), {1}));
    }
  }

  C& c_;
  const size_t carried_;
  size_t scans_ = 0;
};

void loop_rule(C& c) { LoopGradient(c).run(); }

constexpr GradientRow kRows[] = {{"GRU", gradient_of_expansion},
                                 {"LSTM", gradient_of_expansion},
                                 {"RNN", gradient_of_expansion},
                                 {"Scan", gradient_of_expansion},
                                 {"If", if_rule},
                                 {"Loop", loop_rule}};

}  // namespace

std::span<const GradientRow> control_gradients() { return kRows; }

}  // namespace gcg
