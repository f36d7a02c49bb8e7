#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/inline_body.h"
#include "compiler/passes/packed_sequence.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

bool nested(const Sequences& body, const SequenceParts& sequence) {
  return std::any_of(sequence.parts.begin(), sequence.parts.end(),
                     [&](const SequencePart& p) { return body.parts(p.value) != nullptr; });
}

}  // namespace

bool Sequences::pick_branch(NodeId id) {
  const auto condition = known_number(graph_, graph_.node(id).inputs[0]);
  if (!condition) return false;
  inline_body(graph_, id, *condition != 0 ? 0 : 1);
  changed = true;
  return true;
}

void Sequences::enter_bodies(NodeId id) {
  pass_captures(id);
  std::vector<std::unique_ptr<Sequences>> bodies;
  for (size_t i = 0; i < graph_.node(id).bodies.size(); ++i) {
    bodies.push_back(std::make_unique<Sequences>(*graph_.node(id).bodies[i], loops_));
    Sequences& body = *bodies.back();
    body.run();
    changed |= body.changed;
    rows.insert(rows.end(), body.rows.begin(), body.rows.end());
  }
  const Node& n = graph_.node(id);
  if (sequence_state(n)) reject(n, "its iterations change a sequence whose elements have unknown ranks");
  if (n.op == &op_If) pass_outputs(id, bodies);
}

/// Captures of sequences become captures of their parts.
void Sequences::pass_captures(NodeId id) {
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
    pass_sequence(n, outer, inner);
    changed = true;
  }
}

void Sequences::pass_sequence(Node& n, ValueId outer, const std::vector<ValueId>& inner) {
  const SequenceParts sequence = *parts(outer);
  std::vector<SequenceParts> copies(n.bodies.size(), sequence);
  const auto enter = [&](size_t p, ValueId SequencePart::* of) {
    const ValueId value = sequence.parts[p].*of;
    std::vector<ValueId> entered;
    for (auto& body : n.bodies) {
      Value copy;
      copy.name = body->unique_name(graph_.value(value).name);
      copy.dtype = graph_.value(value).dtype;
      copy.shape = graph_.value(value).shape;
      entered.push_back(body->add_value(std::move(copy)));
    }
    for (size_t i = 0; i < entered.size(); ++i) copies[i].parts[p].*of = entered[i];
    if (parts(value) != nullptr) return pass_sequence(n, value, entered);
    n.inputs.push_back(value);
    ++n.captures;
    for (size_t i = 0; i < entered.size(); ++i) n.bodies[i]->inputs.push_back(entered[i]);
  };
  for (size_t p = 0; p < sequence.parts.size(); ++p) {
    enter(p, &SequencePart::value);
    if (sequence.parts[p].table.valid()) enter(p, &SequencePart::table);
  }
  for (size_t i = 0; i < inner.size(); ++i) define(*n.bodies[i], inner[i], copies[i], n.name);
}

/// Sequences that an If returns become outputs for their parts.
void Sequences::pass_outputs(NodeId id, const std::vector<std::unique_ptr<Sequences>>& bodies) {
  for (size_t o = 0; o < graph_.node(id).outputs.size();) {
    const Node& n = graph_.node(id);
    const SequenceParts *a = bodies[0]->parts(n.bodies[0]->outputs[o]), *b = bodies[1]->parts(n.bodies[1]->outputs[o]);
    if (a == nullptr && b == nullptr) {
      ++o;
      continue;
    }
    const bool is_flat = a != nullptr && b != nullptr && !nested(*bodies[0], *a) && !nested(*bodies[1], *b);
    if (!is_flat) return reject(n, concat("its branches make nested or unknown sequences for output ", o));
    if (a->parts.size() == b->parts.size() && a->length() && b->length()) {
      pass_elements(id, o, *a, *b);
      continue;
    }
    auto type = element_type(*n.bodies[0], *a);
    if (!type) type = element_type(*n.bodies[1], *b);
    if (!type)
      return reject(n, concat("the ranks of the elements of the sequence that is its output ", o, " are not known"));
    pass_packed(id, o, *type, a->is_optional);
    o += 2;
  }
}

/// Returns one output per element, if the sequence has the same known length in both branches.
void Sequences::pass_elements(NodeId id, size_t output, const SequenceParts& then, const SequenceParts& otherwise) {
  Node& n = graph_.node(id);
  const auto at = static_cast<std::ptrdiff_t>(output);
  const ValueId joined = n.outputs[output];
  n.outputs.erase(n.outputs.begin() + at);
  for (size_t body = 0; body < 2; ++body) {
    Graph& g = *n.bodies[body];
    g.outputs.erase(g.outputs.begin() + at);
    for (const SequencePart& p : (body == 0 ? then : otherwise).parts) g.outputs.push_back(p.value);
  }
  SequenceParts out;
  out.is_optional = then.is_optional;
  for (size_t p = 0; p < then.parts.size(); ++p) {
    n.outputs.push_back(add_output(concat(graph_.value(joined).name, ".", p)));
    out.parts.push_back({n.outputs.back()});
  }
  number_outputs(graph_, id);
  define(joined, std::move(out), n.name);
  changed = true;
}

/// Returns the sequence as the two tensors of a packed part.
void Sequences::pass_packed(NodeId id, size_t output, ElementType type, bool is_optional) {
  Node& n = graph_.node(id);
  const std::string& name = graph_.value(n.outputs[output]).name;
  const SequencePart out{add_output(name + ".packed"), SequencePart::Kind::packed, add_output(name + ".packed_shapes"),
                         type.rank};
  for (auto& body : n.bodies) {
    const SequencePart part = pack_later(*body, n.name, body->outputs[output], type);
    body->outputs[output] = part.value;
    body->outputs.insert(body->outputs.begin() + static_cast<std::ptrdiff_t>(output) + 1, part.table);
  }
  const ValueId joined = n.outputs[output];
  n.outputs[output] = out.value;
  n.outputs.insert(n.outputs.begin() + static_cast<std::ptrdiff_t>(output) + 1, out.table);
  number_outputs(graph_, id);
  define(joined, {{out}, is_optional}, n.name);
  changed = true;
}

}  // namespace gcg
