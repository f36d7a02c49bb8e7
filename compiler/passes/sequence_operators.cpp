#include "compiler/ops/ops.h"
#include "compiler/passes/packed_sequence.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

/// Attributes of the SequenceConstructs that this pass makes: the kind and axis of each part (a part's table is the
/// input after its value), and whether the sequence is an optional.
constexpr const char* kKinds = "gart.kinds";
constexpr const char* kAxes = "gart.axes";
constexpr const char* kOptional = "gart.optional";
constexpr const char* kType = "gart.type";  // attribute of a kPackSequence: dtype and rank of the elements

bool has_table(SequencePart::Kind kind) {
  return kind == SequencePart::Kind::pieces || kind == SequencePart::Kind::packed;
}

SequenceParts listed(const Node& n) {
  SequenceParts out;
  const std::vector<int64_t> kinds = n.ints_attribute(kKinds), axes = n.ints_attribute(kAxes);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    SequencePart part{n.inputs[i]};
    if (const size_t k = out.parts.size(); k < kinds.size()) {
      part.kind = static_cast<SequencePart::Kind>(kinds[k]);
      part.axis = axes[k];
      if (has_table(part.kind)) part.table = n.inputs.at(++i);
    }
    out.parts.push_back(part);
  }
  out.is_optional = n.op == &op_Optional || n.int_attribute(kOptional, 0) != 0;
  return out;
}

/// Turns the node into a SequenceConstruct that only lists the parts; it is removed if nobody reads it.
void list(Node& n, const SequenceParts& sequence) {
  n.op = &op_SequenceConstruct;
  n.bodies.clear();
  n.captures = 0;
  n.inputs.clear();
  std::vector<int64_t> kinds, axes;
  for (const SequencePart& p : sequence.parts) {
    n.inputs.push_back(p.value);
    if (has_table(p.kind)) n.inputs.push_back(p.table);
    kinds.push_back(static_cast<int64_t>(p.kind));
    axes.push_back(p.axis);
  }
  n.attributes = {{kKinds, kinds}, {kAxes, axes}, {kOptional, int64_t{sequence.is_optional}}};
}

/// True if new nodes make the sequence. The node then becomes a list of the parts, so that these nodes are not made
/// again.
bool is_made(const Node& n, const SequenceParts& out) {
  return n.op == &op_SplitToSequence ||
         (n.op != &op_SequenceConstruct && out.parts.size() == 1 && out.parts[0].kind == SequencePart::Kind::packed);
}

/// The results are typed before the sequence is known, because the types of carried values may depend on them.
void infer_pack(InferContext& c) {
  const std::vector<int64_t> type = c.node().ints_attribute(kType);
  c.set_output(0, static_cast<DType>(type.at(0)), {c.fresh_symbol("numbers")});
  c.set_output(1, DType::i64, {c.fresh_symbol("elements"), Dim(type.at(1))});
}

std::optional<ElementType> type_of_tensor(const Graph& graph, ValueId v) { return element_type(graph, {{{v}}}); }

/// Tells whether the optional has an element. `from` is null if it has none, or if it is a tensor.
ValueId has_element(NodeBuilder& b, bool none, const SequenceParts* from) {
  const bool open = from != nullptr && from->is_optional && !from->length();
  if (open) return b.node("Greater", {length_of(b, *from), b.constant(Tensor::scalar_i64(0))});
  const bool has = !none && (from == nullptr || !from->is_optional || !from->parts.empty());
  return b.constant(Tensor::from<uint8_t>(DType::boolean, {}, {uint8_t{has}}));
}

}  // namespace

constinit const OpDef kPackSequence{.name = "PackSequence",
                                    .domain = "gart",
                                    .min_inputs = 1,
                                    .max_inputs = 1,
                                    .min_outputs = 2,
                                    .max_outputs = 2,
                                    .kind = OpKind::opaque,
                                    .allows_unknown_rank = true,
                                    .infer = infer_pack};

bool makes_sequence(const OpDef* op) {
  return op == &op_SequenceConstruct || op == &op_SequenceEmpty || op == &op_SequenceErase ||
         op == &op_SequenceInsert || op == &op_SplitToSequence || op == &op_SequenceMap || op == &op_Optional;
}
bool reads_sequence(const OpDef* op) {
  return op == &op_SequenceAt || op == &op_SequenceLength || op == &op_ConcatFromSequence ||
         op == &op_OptionalGetElement || op == &op_OptionalHasElement || op == &kPackSequence;
}

void number_outputs(Graph& graph, NodeId id) {
  const std::vector<ValueId>& outputs = graph.node(id).outputs;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].valid()) continue;
    graph.value(outputs[o]).producer = id;
    graph.value(outputs[o]).output_index = static_cast<int>(o);
  }
}

ValueId Sequences::add_output(const std::string& hint) {
  Value value;
  value.name = graph_.unique_name(hint);
  return graph_.add_value(std::move(value));
}

void Sequences::make(NodeId id) {
  const Node& n = graph_.node(id);
  if (known_.count(n.outputs[0]) != 0) return;
  std::string why = "the sequence that it changes is not known at compile time";
  std::optional<SequenceParts> out;
  if (n.op == &op_SequenceConstruct || n.op == &op_SequenceEmpty || n.op == &op_Optional) {
    out = listed(n);
  } else if (n.op == &op_SplitToSequence) {
    out = split_parts(graph_, n, why);
  } else if (const SequenceParts* from = parts(n.inputs[0])) {
    out = n.op == &op_SequenceInsert ? inserted(graph_, n, *from, why) : erased(graph_, n, *from, why);
  }
  if (!out) return reject(n, why);
  if (is_made(n, *out)) {
    list(graph_.node(id), *out);
    changed = true;
  }
  known_[graph_.node(id).outputs[0]] = std::move(*out);
}

void Sequences::read(NodeId id) {
  if (graph_.node(id).op == &kPackSequence) return pack(id);
  const Node n{graph_.node(id).op,      graph_.node(id).name,       graph_.node(id).inputs,
               graph_.node(id).outputs, graph_.node(id).attributes, {}};
  const SequenceParts* from = n.inputs.empty() || !n.inputs[0].valid() ? nullptr : parts(n.inputs[0]);
  std::string why = "the sequence that it reads is not known at compile time";
  std::optional<ValueId> out;
  NodeBuilder b(graph_, n.name);
  if (n.op == &op_OptionalHasElement) {
    const bool none = n.inputs.empty() || !n.inputs[0].valid();
    const bool typed = !none && graph_.value(n.inputs[0]).dtype != DType::undefined;
    if (none || from || typed) out = has_element(b, none, from);
  } else if (n.op == &op_OptionalGetElement) {
    out = element_of_optional(n, from);
    if (out && (parts(*out) != nullptr)) {
      known_[n.outputs[0]] = SequenceParts(*parts(*out));
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

std::optional<ValueId> Sequences::element_of_optional(const Node& n, const SequenceParts* from) {
  if (from == nullptr || !from->is_optional) {
    if (from == nullptr && graph_.value(n.inputs[0]).dtype == DType::undefined) return std::nullopt;
    return n.inputs[0];
  }
  if (from->parts.empty()) fail("OptionalGetElement '", n.name, "': the optional is empty");
  if (from->parts[0].is_element()) return from->parts[0].value;
  NodeBuilder b(graph_, n.name);
  return packed_element(b, from->parts[0], b.constant(Tensor::scalar_i64(0)));
}

void Sequences::replace(ValueId from, ValueId to) {
  if (graph_.is_output(from) && (!graph_.value(to).producer.valid() || graph_.is_output(to)))
    to = NodeBuilder(graph_, graph_.value(from).name).node("Identity", {to});
  graph_.replace_uses(from, to);
}

void Sequences::define(Graph& graph, ValueId sequence, const SequenceParts& parts, const std::string& name) {
  Node n;
  n.name = name;
  n.outputs = {sequence};
  list(n, parts);
  graph.value(sequence).producer = NodeId();
  graph.add_node(std::move(n));
}

void Sequences::define(ValueId sequence, SequenceParts parts, const std::string& name) {
  define(graph_, sequence, parts, name);
  known_[sequence] = std::move(parts);
}

SequencePart Sequences::pack_later(Graph& graph, const std::string& name, ValueId sequence, ElementType type) {
  const NodeId id = graph.add_node(kPackSequence, name, {sequence}, 2,
                                   {{kType, std::vector<int64_t>{static_cast<int64_t>(type.dtype), type.rank}}});
  const std::vector<ValueId>& packed = graph.node(id).outputs;
  return {packed[0], SequencePart::Kind::packed, packed[1], type.rank};
}

void Sequences::pack(NodeId id) {
  const Node& n = graph_.node(id);
  const std::vector<int64_t> type = n.ints_attribute(kType);
  const SequenceParts* from = parts(n.inputs[0]);
  if (from == nullptr) return reject(n, "the sequence that it reads is not known at compile time");
  NodeBuilder b(graph_, n.name);
  const auto part = packed(b, *from, {static_cast<DType>(type.at(0)), type.at(1)});
  if (!part) return reject(n, "the ranks of the sequence's elements are not known, or differ");
  const std::vector<ValueId> outputs = graph_.node(id).outputs;
  replace(outputs[0], part->value);
  replace(outputs[1], part->table);
  graph_.erase_node(id);
  changed = true;
}

std::optional<ElementType> Sequences::type_of(const Graph& graph, ValueId sequence) {
  const Value& value = graph.value(sequence);
  if (!value.producer.valid()) return std::nullopt;
  const Node& n = graph.node(value.producer);
  const auto either = [&](std::optional<ElementType> a, const Graph& g, ValueId b) { return a ? a : type_of(g, b); };
  const auto output = static_cast<size_t>(value.output_index);
  if (n.op == &op_SequenceConstruct || n.op == &op_Optional) return element_type(graph, listed(n));
  if (n.op == &op_SequenceInsert) return either(type_of_tensor(graph, n.inputs[1]), graph, n.inputs[0]);
  if (n.op == &op_SequenceErase || n.op == &op_Identity) return type_of(graph, n.inputs[0]);
  if (n.op == &op_If)
    return either(type_of(*n.bodies[0], n.bodies[0]->outputs[output]), *n.bodies[1], n.bodies[1]->outputs[output]);
  if (n.op == &op_Loop)
    return either(type_of(*n.bodies[0], n.bodies[0]->outputs[1 + output]), graph, n.inputs[2 + output]);
  return std::nullopt;
}

}  // namespace gcg
