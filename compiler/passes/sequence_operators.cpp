#include "compiler/ops/ops.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

/// What the parts of a SequenceConstruct of ours are, part by part: an element (0), stacked elements (1), pieces cut
/// along an axis (kPieces + axis), whose sizes are the next input; and whether it stands for an optional.
constexpr const char* kForms = "gart.forms";
constexpr const char* kOptional = "gart.optional";
constexpr int64_t kPieces = 2;

Parts listed(const Node& n) {
  Parts out;
  const std::vector<int64_t> forms = n.ints_attribute(kForms);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const int64_t form = out.parts.size() < forms.size() ? forms[out.parts.size()] : 0;
    Part part{n.inputs[i], form == 1, {}, 0};
    if (form >= kPieces) part.sizes = n.inputs.at(++i), part.axis = form - kPieces;
    out.parts.push_back(part);
  }
  out.is_optional = n.op == &op_Optional || n.int_attribute(kOptional, 0) != 0;
  return out;
}

/// Makes the node one that only lists the parts; it goes when nobody reads it.
void list(Node& n, const Parts& sequence) {
  n.op = &op_SequenceConstruct;
  n.bodies.clear();
  n.captures = 0;
  n.inputs.clear();
  std::vector<int64_t> forms;
  for (const Part& p : sequence.parts) {
    n.inputs.push_back(p.value);
    if (p.sizes.valid()) n.inputs.push_back(p.sizes);
    forms.push_back(p.sizes.valid() ? kPieces + p.axis : p.stacked ? 1 : 0);
  }
  n.attributes = {{kForms, forms}, {kOptional, int64_t{sequence.is_optional}}};
}

uint8_t has_element(bool none, const Parts* from) {
  if (none) return 0;
  return from == nullptr || !from->is_optional || !from->parts.empty() ? 1 : 0;
}

}  // namespace

bool makes_sequence(const OpDef* op) {
  return op == &op_SequenceConstruct || op == &op_SequenceEmpty || op == &op_SequenceErase ||
         op == &op_SequenceInsert || op == &op_SplitToSequence || op == &op_SequenceMap || op == &op_Optional;
}
bool reads_sequence(const OpDef* op) {
  return op == &op_SequenceAt || op == &op_SequenceLength || op == &op_ConcatFromSequence ||
         op == &op_OptionalGetElement || op == &op_OptionalHasElement;
}

void Sequences::make(NodeId id) {
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

void Sequences::read(NodeId id) {
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

std::optional<ValueId> Sequences::element_of_optional(const Node& n, const Parts* from) const {
  if (from == nullptr || !from->is_optional) {
    if (from == nullptr && graph_.value(n.inputs[0]).dtype == DType::undefined) return std::nullopt;
    return n.inputs[0];
  }
  if (from->parts.empty()) fail("OptionalGetElement '", n.name, "': the optional is empty");
  return from->parts[0].value;
}

void Sequences::replace(ValueId from, ValueId to) {
  if (graph_.is_output(from) && (!graph_.value(to).producer.valid() || graph_.is_output(to)))
    to = NodeBuilder(graph_, graph_.value(from).name).node("Identity", {to});
  graph_.replace_uses(from, to);
}

void Sequences::define(ValueId sequence, Parts parts, const std::string& name) {
  Node n;
  n.name = name;
  n.outputs = {sequence};
  list(n, parts);
  graph_.value(sequence).producer = NodeId();
  graph_.add_node(std::move(n));
  known_[sequence] = std::move(parts);
}

}  // namespace gcg
