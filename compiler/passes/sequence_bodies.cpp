#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/inline_body.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

bool nested(const Sequences& body, const Parts& sequence) {
  return std::any_of(sequence.parts.begin(), sequence.parts.end(),
                     [&](const Part& p) { return body.parts(p.value) != nullptr; });
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
void Sequences::pass_captures(NodeId id, std::vector<Known>& inside) {
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

void Sequences::pass_sequence(Node& n, ValueId outer, const std::vector<ValueId>& inner, std::vector<Known>& inside) {
  const Parts sequence = *parts(outer);
  std::vector<Parts> copies(n.bodies.size(), sequence);
  const auto enter = [&](size_t p, ValueId Part::* of) {
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
    if (parts(value) != nullptr) return pass_sequence(n, value, entered, inside);
    n.inputs.push_back(value);
    ++n.captures;
    for (size_t i = 0; i < entered.size(); ++i) n.bodies[i]->inputs.push_back(entered[i]);
  };
  for (size_t p = 0; p < sequence.parts.size(); ++p) {
    enter(p, &Part::value);
    if (sequence.parts[p].sizes.valid()) enter(p, &Part::sizes);
  }
  for (size_t i = 0; i < inner.size(); ++i) inside[i][inner[i]] = copies[i];
}

/// Outputs of an If that both branches know as sequences of one length come out part by part.
void Sequences::pass_outputs(NodeId id, const std::vector<std::unique_ptr<Sequences>>& bodies) {
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
    define(whole, std::move(out), n.name);
    changed = true;
  }
}

}  // namespace gcg
