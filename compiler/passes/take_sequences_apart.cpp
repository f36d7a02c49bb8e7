#include "compiler/passes/take_sequences_apart.h"

#include <algorithm>
#include <map>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/passes/inline_body.h"
#include "compiler/passes/sequence_parts.h"
#include "compiler/support/unsupported.h"

namespace gcg {
namespace {

constexpr int64_t kMostIterations = 1024;  // of a loop that is unrolled
constexpr int64_t kMostCopies = 20'000;    // of nodes, then

bool makes_sequence(const OpDef* op) {
  return op == &op_SequenceConstruct || op == &op_SequenceEmpty || op == &op_SequenceErase ||
         op == &op_SequenceInsert || op == &op_SplitToSequence || op == &op_SequenceMap || op == &op_Optional;
}
bool reads_sequence(const OpDef* op) {
  return op == &op_SequenceAt || op == &op_SequenceLength || op == &op_ConcatFromSequence ||
         op == &op_OptionalGetElement || op == &op_OptionalHasElement;
}

bool has_sequences(const Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (makes_sequence(n.op) || reads_sequence(n.op)) return true;
    for (const auto& body : n.bodies)
      if (has_sequences(*body)) return true;
  }
  return false;
}

/// One graph: the model's, or a body.
class Sequences {
 public:
  using Known = std::map<ValueId, Parts>;

  /// `appends`: loops that cannot be unrolled append; else they are postponed. What a body captures is known in one
  /// turn only.
  Sequences(Graph& graph, Known known, bool appends) : graph_(graph), known_(std::move(known)), appends_(appends) {}

  /// Takes apart what can be now.
  void run() {
    for (NodeId id : graph_.order())
      if (!graph_.node(id).erased) visit(id);
  }

  const Parts* parts(ValueId v) const {
    const auto it = known_.find(v);
    return it == known_.end() ? nullptr : &it->second;
  }

  bool changed = false, is_postponed = false;
  std::vector<UnsupportedNode> rows;

 private:
  void reject(const Node& n, std::string why) { rows.push_back({n.name, n.op->name, n.op->domain, 0, std::move(why)}); }

  void visit(NodeId id) {
    const Node& n = graph_.node(id);
    if (makes_sequence(n.op)) return n.op == &op_SequenceMap ? map(id) : make(id);
    if (reads_sequence(n.op)) return read(id);
    if (n.op == &op_Identity) {
      if (const Parts* from = parts(n.inputs[0])) known_[n.outputs[0]] = *from;
      return;
    }
    if (n.bodies.empty()) return;
    if (n.op == &op_If && pick_branch(id)) return;
    if (n.op == &op_Loop && sequence_state(n)) {
      if (unroll(id)) return;
      is_postponed |= !appends_;
      if (!appends_) return;
    }
    if (n.op == &op_Loop) append_as_scan(id);
    enter_bodies(id);
  }

  // ---- operators

  /// Which inputs of a SequenceConstruct of ours are stacked; and whether it stands for an optional.
  static constexpr const char* kStacked = "gart.stacked";
  static constexpr const char* kOptional = "gart.optional";

  static Parts listed(const Node& n) {
    Parts out;
    const std::vector<int64_t> stacked = n.ints_attribute(kStacked);
    for (size_t i = 0; i < n.inputs.size(); ++i)
      out.parts.push_back({n.inputs[i], i < stacked.size() && stacked[i] != 0});
    out.is_optional = n.op == &op_Optional || n.int_attribute(kOptional, 0) != 0;
    return out;
  }

  /// Makes the node one that only lists the parts; it goes when nobody reads it.
  static void list(Node& n, const Parts& sequence) {
    n.op = &op_SequenceConstruct;
    n.bodies.clear();
    n.captures = 0;
    n.inputs.clear();
    std::vector<int64_t> stacked;
    for (const Part& p : sequence.parts) {
      n.inputs.push_back(p.value);
      stacked.push_back(p.stacked ? 1 : 0);
    }
    n.attributes = {{kStacked, stacked}, {kOptional, int64_t{sequence.is_optional}}};
  }

  void make(NodeId id) {
    const Node& n = graph_.node(id);
    if (known_.count(n.outputs[0]) != 0) return;
    std::string why = "the sequence it changes is not known at compile time";
    std::optional<Parts> out;
    if (n.op == &op_SequenceConstruct || n.op == &op_SequenceEmpty || n.op == &op_Optional) {
      out = listed(n);
    } else if (n.op == &op_SplitToSequence) {
      out = split_parts(graph_, n, why);
      if (out) list(graph_.node(id), *out);
      changed |= out.has_value();
    } else if (const Parts* from = parts(n.inputs[0])) {
      out = n.op == &op_SequenceInsert ? inserted(graph_, n, *from, why) : erased(graph_, n, *from, why);
    }
    if (!out) return reject(n, why);
    known_[graph_.node(id).outputs[0]] = std::move(*out);
  }

  void read(NodeId id) {
    const Node n{graph_.node(id).op,      graph_.node(id).name,       graph_.node(id).inputs,
                 graph_.node(id).outputs, graph_.node(id).attributes, {}};
    const Parts* from = n.inputs.empty() || !n.inputs[0].valid() ? nullptr : parts(n.inputs[0]);
    std::string why = "the sequence it reads is not known at compile time";
    std::optional<ValueId> out;
    NodeBuilder b(graph_, n.name);
    if (n.op == &op_OptionalHasElement) {
      const bool none = n.inputs.empty() || !n.inputs[0].valid();
      const bool typed = !none && graph_.value(n.inputs[0]).dtype != DType::undefined;
      if (none || from || typed) out = b.constant(Tensor::from<uint8_t>(DType::boolean, {}, {has_element(none, from)}));
    } else if (n.op == &op_OptionalGetElement) {
      out = element_of_optional(n, from);
      if (out && (parts(*out) != nullptr)) {
        known_[n.outputs[0]] = Parts(*parts(*out));
        return;
      }
    } else if (from != nullptr) {
      if (n.op == &op_SequenceLength)
        out = length_of(b, *from);
      else if (n.op == &op_SequenceAt)
        out = element_at(graph_, n, *from, why);
      else
        out = concatenated(graph_, n, *from, why);
    }
    if (!out) return reject(n, why);
    replace(n.outputs[0], *out);
    graph_.erase_node(id);
    changed = true;
  }

  static uint8_t has_element(bool none, const Parts* from) {
    if (none) return 0;
    return from == nullptr || !from->is_optional || !from->parts.empty() ? 1 : 0;
  }

  std::optional<ValueId> element_of_optional(const Node& n, const Parts* from) const {
    if (from == nullptr || !from->is_optional) {
      if (from == nullptr && graph_.value(n.inputs[0]).dtype == DType::undefined) return std::nullopt;
      return n.inputs[0];
    }
    if (from->parts.empty()) fail("OptionalGetElement '", n.name, "': the optional is empty");
    return from->parts[0].value;
  }

  /// Outputs of the graph keep their value; they get a copy of one that is no node's result or an output, too.
  void replace(ValueId from, ValueId to) {
    if (graph_.is_output(from) && (!graph_.value(to).producer.valid() || graph_.is_output(to)))
      to = NodeBuilder(graph_, graph_.value(from).name).node("Identity", {to});
    graph_.replace_uses(from, to);
  }

  void map(NodeId id) {
    const Node& n = graph_.node(id);
    const Parts* first = parts(n.inputs[0]);
    if (first == nullptr || !first->length())
      return reject(n, "the length of its sequence is not known at compile time");
    const int64_t count = *first->length();
    const size_t own = n.inputs.size() - static_cast<size_t>(n.captures);
    const std::vector<ValueId> inputs = n.inputs, outputs = n.outputs;
    const std::shared_ptr<Graph> body = std::make_shared<Graph>(n.bodies[0]->clone());
    std::vector<Parts> made(outputs.size());
    for (int64_t k = 0; k < count; ++k) {
      std::map<ValueId, ValueId> values;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Parts* sequence = i < own ? parts(inputs[i]) : nullptr;
        if (sequence != nullptr && sequence->length() != count)
          fail("SequenceMap '", n.name, "': input ", i, " has not the length of input 0, ", count);
        values[body->inputs[i]] = sequence != nullptr ? sequence->parts[static_cast<size_t>(k)].value : inputs[i];
      }
      copy_body(*body, values);
      for (size_t o = 0; o < outputs.size(); ++o) made[o].parts.push_back({values.at(body->outputs[o])});
    }
    const std::string name = n.name;
    graph_.node(id).outputs.assign(outputs.size(), ValueId());
    graph_.erase_node(id);
    for (size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].valid()) stand_in(outputs[o], std::move(made[o]), name);
    changed = true;
  }

  /// `values` receives those of the body's outputs, too.
  void copy_body(const Graph& body, std::map<ValueId, ValueId>& values) {
    copy_nodes(body, body.order(), graph_, values);
    for (ValueId v : body.outputs)
      if (values.count(v) == 0) values[v] = graph_.add_constant(body.value(v).name, *body.value(v).constant);
  }

  // ---- control flow

  bool pick_branch(NodeId id) {
    const auto condition = known_number(graph_, graph_.node(id).inputs[0]);
    if (!condition) return false;
    inline_body(graph_, id, *condition != 0 ? 0 : 1);
    changed = true;
    return true;
  }

  bool sequence_state(const Node& n) const {
    for (size_t i = 2; i + static_cast<size_t>(n.captures) < n.inputs.size(); ++i)
      if (parts(n.inputs[i]) != nullptr) return true;
    return false;
  }

  /// How often a loop runs, if that is a known, moderate number.
  std::optional<int64_t> iterations(const Node& n) const {
    const Graph& body = *n.bodies[0];
    const auto holds = [](const Graph& g, ValueId v) { return known_number(g, v).value_or(0) != 0; };
    const bool goes_on = body.outputs[0] == body.inputs[1] || holds(body, body.outputs[0]);
    if (!n.inputs[0].valid() || !goes_on || (n.inputs[1].valid() && !holds(graph_, n.inputs[1]))) return std::nullopt;
    const auto count = known_number(graph_, n.inputs[0]);
    if (!count || *count > kMostIterations || *count * static_cast<int64_t>(body.order().size()) > kMostCopies)
      return std::nullopt;
    return std::max<int64_t>(*count, 0);
  }

  bool unroll(NodeId id) {
    const Node& n = graph_.node(id);
    const auto count = iterations(n);
    if (!count) return false;
    const Graph body = n.bodies[0]->clone();
    const size_t carried = n.inputs.size() - 2 - static_cast<size_t>(n.captures);
    const std::vector<ValueId> inputs = n.inputs, outputs = n.outputs;
    if (*count == 0 && outputs.size() > carried) return false;
    std::vector<ValueId> state(inputs.begin() + 2, inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
    std::vector<std::vector<ValueId>> scanned(body.outputs.size() - 1 - carried);
    NodeBuilder b(graph_, n.name);
    for (int64_t k = 0; k < *count; ++k) {
      std::map<ValueId, ValueId> values = {
          {body.inputs[0], b.constant(Tensor::scalar_i64(k))},
          {body.inputs[1], b.constant(Tensor::from<uint8_t>(DType::boolean, {}, {1}))}};
      for (size_t i = 0; i < carried; ++i) values[body.inputs[2 + i]] = state[i];
      for (size_t i = 2 + carried; i < inputs.size(); ++i) values[body.inputs[i]] = inputs[i];
      copy_body(body, values);
      for (size_t i = 0; i < carried; ++i) state[i] = values.at(body.outputs[1 + i]);
      for (size_t i = 0; i < scanned.size(); ++i)
        scanned[i].push_back(b.unsqueeze(values.at(body.outputs[1 + carried + i]), 0));
    }
    graph_.erase_node(id);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].valid()) replace(outputs[i], i < carried ? state[i] : b.concat(scanned[i - carried], 0));
    changed = true;
    return true;
  }

  /// Sequences that an iteration only appends to become scan outputs.
  void append_as_scan(NodeId id) {
    for (size_t i = 2; i + static_cast<size_t>(graph_.node(id).captures) < graph_.node(id).inputs.size();) {
      const Parts* initial = parts(graph_.node(id).inputs[i]);
      if (initial == nullptr || !append_as_scan(id, i, *initial)) ++i;
    }
  }

  bool append_as_scan(NodeId id, size_t input, Parts sequence) {
    Node& n = graph_.node(id);
    Graph& body = *n.bodies[0];
    const ValueId in = body.inputs[input], out = body.outputs[input - 1];
    if (!body.value(out).producer.valid() || body.is_output(in)) return false;
    const NodeId insert = body.value(out).producer;
    const Node& last = body.node(insert);
    const auto users = body.users();
    if (last.op != &op_SequenceInsert || last.inputs[0] != in || last.inputs.size() > 2 ||
        users[static_cast<size_t>(in.index)].size() != 1 || !users[static_cast<size_t>(out.index)].empty())
      return false;
    const ValueId appended = last.inputs[1], whole = input - 2 < n.outputs.size() ? n.outputs[input - 2] : ValueId();
    n.inputs.erase(n.inputs.begin() + static_cast<std::ptrdiff_t>(input));
    body.inputs.erase(body.inputs.begin() + static_cast<std::ptrdiff_t>(input));
    body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(input) - 1);
    body.erase_node(insert);
    body.outputs.push_back(appended);
    if (input - 2 < n.outputs.size()) n.outputs.erase(n.outputs.begin() + static_cast<std::ptrdiff_t>(input) - 2);
    n.outputs.resize(body.outputs.size() - 1);
    Value stacked;
    stacked.name = graph_.unique_name(n.name + ".appended");
    stacked.producer = id;
    stacked.output_index = static_cast<int>(n.outputs.size()) - 1;
    n.outputs.back() = graph_.add_value(std::move(stacked));
    for (size_t o = 0; o < n.outputs.size(); ++o)
      if (n.outputs[o].valid()) graph_.value(n.outputs[o]).output_index = static_cast<int>(o);
    sequence.parts.push_back({n.outputs.back(), true});
    if (whole.valid()) stand_in(whole, std::move(sequence), n.name);
    changed = true;
    return true;
  }

  /// `sequence` has lost its producer: it gets one that lists the parts.
  void stand_in(ValueId sequence, Parts parts, const std::string& name) {
    Node n;
    n.name = name;
    n.outputs = {sequence};
    list(n, parts);
    graph_.value(sequence).producer = NodeId();
    graph_.add_node(std::move(n));
    known_[sequence] = std::move(parts);
  }

  void enter_bodies(NodeId id) {
    std::vector<Known> inside(graph_.node(id).bodies.size());
    pass_captures(id, inside);
    std::vector<std::unique_ptr<Sequences>> bodies;
    for (size_t i = 0; i < inside.size(); ++i) {
      bodies.push_back(std::make_unique<Sequences>(*graph_.node(id).bodies[i], std::move(inside[i]), true));
      Sequences& body = *bodies.back();
      body.run();
      changed |= body.changed;
      rows.insert(rows.end(), body.rows.begin(), body.rows.end());
    }
    const Node& n = graph_.node(id);
    if (sequence_state(n))
      reject(n, "an iteration changes a sequence in a way that depends on data, other than appending to it");
    if (n.op == &op_If) pass_outputs(id, bodies);
  }

  /// Captured sequences are captured part by part.
  void pass_captures(NodeId id, std::vector<Known>& inside) {
    Node& n = graph_.node(id);
    for (size_t i = n.inputs.size() - static_cast<size_t>(n.captures); i < n.inputs.size();) {
      if (parts(n.inputs[i]) == nullptr) {
        ++i;
        continue;
      }
      const ValueId outer = n.inputs[i];
      const size_t from_end = n.inputs.size() - i;
      n.inputs.erase(n.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      --n.captures;
      std::vector<ValueId> inner;
      for (auto& body : n.bodies) {
        const auto at = body->inputs.end() - static_cast<std::ptrdiff_t>(from_end);
        inner.push_back(*at);
        body->inputs.erase(at);
      }
      pass_sequence(n, outer, inner, inside);
      changed = true;
    }
  }

  void pass_sequence(Node& n, ValueId outer, const std::vector<ValueId>& inner, std::vector<Known>& inside) {
    const Parts sequence = *parts(outer);
    std::vector<Parts> copies(n.bodies.size(), sequence);
    for (size_t p = 0; p < sequence.parts.size(); ++p) {
      const ValueId part = sequence.parts[p].value;
      std::vector<ValueId> entered;
      for (auto& body : n.bodies) {
        Value value;
        value.name = body->unique_name(graph_.value(part).name);
        value.dtype = graph_.value(part).dtype;
        value.shape = graph_.value(part).shape;
        entered.push_back(body->add_value(std::move(value)));
      }
      for (size_t i = 0; i < entered.size(); ++i) copies[i].parts[p].value = entered[i];
      if (parts(part) != nullptr) {
        pass_sequence(n, part, entered, inside);
        continue;
      }
      n.inputs.push_back(part);
      ++n.captures;
      for (size_t i = 0; i < entered.size(); ++i) n.bodies[i]->inputs.push_back(entered[i]);
    }
    for (size_t i = 0; i < inner.size(); ++i) inside[i][inner[i]] = copies[i];
  }

  /// Outputs of an If that both branches know as sequences of one length come out part by part.
  void pass_outputs(NodeId id, const std::vector<std::unique_ptr<Sequences>>& bodies) {
    for (size_t o = 0; o < graph_.node(id).outputs.size();) {
      Node& n = graph_.node(id);
      const Parts *a = bodies[0]->parts(n.bodies[0]->outputs[o]), *b = bodies[1]->parts(n.bodies[1]->outputs[o]);
      if (a == nullptr && b == nullptr) {
        ++o;
        continue;
      }
      if (a == nullptr || b == nullptr || a->parts.size() != b->parts.size() || !a->length() || !b->length() ||
          nested(*bodies[0], *a) || nested(*bodies[1], *b))
        return reject(n, concat("its branches make sequences of different or unknown lengths for output ", o));
      const ValueId whole = n.outputs[o];
      n.outputs.erase(n.outputs.begin() + static_cast<std::ptrdiff_t>(o));
      for (size_t body = 0; body < 2; ++body) {
        Graph& g = *n.bodies[body];
        g.outputs.erase(g.outputs.begin() + static_cast<std::ptrdiff_t>(o));
        for (const Part& p : (body == 0 ? a : b)->parts) g.outputs.push_back(p.value);
      }
      Parts out;
      out.is_optional = a->is_optional;
      for (size_t p = 0; p < a->parts.size(); ++p) {
        Value value;
        value.name = graph_.unique_name(concat(graph_.value(whole).name, ".", p));
        value.producer = id;
        n.outputs.push_back(graph_.add_value(std::move(value)));
        out.parts.push_back({n.outputs.back()});
      }
      for (size_t i = 0; i < n.outputs.size(); ++i)
        if (n.outputs[i].valid()) graph_.value(n.outputs[i]).output_index = static_cast<int>(i);
      stand_in(whole, std::move(out), n.name);
      changed = true;
    }
  }

  static bool nested(const Sequences& body, const Parts& sequence) {
    return std::any_of(sequence.parts.begin(), sequence.parts.end(),
                       [&](const Part& p) { return body.parts(p.value) != nullptr; });
  }

  Graph& graph_;
  Known known_;
  const bool appends_;
};

/// Outputs of the model that are sequences become an output per element.
void spread_outputs(Graph& graph, const Sequences& sequences, std::vector<UnsupportedNode>& rows) {
  std::vector<ValueId> outputs;
  for (ValueId v : graph.outputs) {
    const Parts* parts = sequences.parts(v);
    while (parts != nullptr && parts->is_optional && parts->parts.size() == 1 &&
           sequences.parts(parts->parts[0].value) != nullptr)
      parts = sequences.parts(parts->parts[0].value);
    if (parts == nullptr) {
      outputs.push_back(v);
      continue;
    }
    const std::string name = graph.value(v).name;
    if (!parts->length())
      rows.push_back({name, "graph output", "", 0, "it is a sequence whose length is not known at compile time"});
    for (size_t i = 0; i < parts->parts.size(); ++i) {
      const ValueId copy = NodeBuilder(graph, name).node("Identity", {parts->parts[i].value});
      graph.value(copy).name = graph.unique_name(parts->is_optional ? name + ".element" : concat(name, ".", i));
      outputs.push_back(copy);
    }
  }
  if (outputs.empty()) rows.push_back({graph.name, "graph", "", 0, "its outputs are empty sequences"});
  graph.outputs = outputs;
}

}  // namespace

bool take_sequences_apart(Graph& graph) {
  if (!has_sequences(graph)) return false;
  try {
    // A loop whose trip count another turn may tell is unrolled rather than made to append.
    for (bool again = true, appends = false; again;) {
      Sequences sequences(graph, {}, appends);
      sequences.run();
      again = sequences.changed || sequences.is_postponed;
      appends = !sequences.changed;
      if (!again && sequences.rows.empty()) spread_outputs(graph, sequences, sequences.rows);
      if (!again && !sequences.rows.empty()) throw UnsupportedModel(std::move(sequences.rows));
      eliminate_dead_code(graph);  // sequences that nobody reads any more
      infer_graph(graph);
    }
  } catch (const NodeError& error) {
    throw UnsupportedModel({error.node()});
  }
  return true;
}

}  // namespace gcg
