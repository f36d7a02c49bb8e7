#include "compiler/passes/sequence_parts.h"

#include <algorithm>

#include "compiler/passes/packed_sequence.h"

namespace gcg {
namespace {

constexpr int64_t kMostElements = 64;  // a longer sequence of equal elements becomes one stacked part

constexpr const char* kRanks = "the ranks of the elements are not known, or differ";

std::optional<int64_t> place(const Graph& graph, ValueId position, int64_t length, int64_t last, const Node& node) {
  const auto known = position.valid() ? known_number(graph, position) : std::nullopt;
  if (!known) return std::nullopt;
  const int64_t at = *known < 0 ? *known + length : *known;
  if (at < 0 || at > last)
    fail(node.op->name, " '", node.name, "': position ", *known, " out of range [", -length, ", ", last, "]");
  return at;
}

bool ranks_known(const Graph& graph, const SequenceParts& sequence) {
  return std::all_of(sequence.parts.begin(), sequence.parts.end(),
                     [&](const SequencePart& p) { return graph.value(p.value).shape.has_value(); });
}

/// Moves dimension `from` to `to`.
ValueId moved(NodeBuilder& b, ValueId x, int64_t rank, int64_t from, int64_t to) {
  if (from == to) return x;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return b.transpose(x, order);
}

/// Merges dimension `axis` with the one after it.
ValueId merged(NodeBuilder& b, ValueId x, int64_t rank, int64_t axis) {
  const ValueId shape = b.node("Shape", {x});
  std::vector<ValueId> extents;
  if (axis > 0) extents.push_back(b.slice(shape, 0, 0, axis));
  extents.push_back(b.multiply(b.slice(shape, 0, axis, axis + 1), b.slice(shape, 0, axis + 1, axis + 2)));
  if (axis + 2 < rank) extents.push_back(b.slice(shape, 0, axis + 2, rank));
  return b.node("Reshape", {x, b.concat(extents, 0)});
}

SequenceParts split_evenly(NodeBuilder& b, ValueId x, const Shape& shape, int64_t axis, bool keeps) {
  const auto rank = static_cast<int64_t>(shape.size());
  const Dim& extent = shape[static_cast<size_t>(axis)];
  SequenceParts out;
  if (!extent.is_constant() || extent.constant() > kMostElements) {
    const ValueId stacked = moved(b, x, rank, axis, 0);
    out.parts.push_back({keeps ? b.unsqueeze(stacked, axis + 1) : stacked, SequencePart::Kind::stacked});
    return out;
  }
  for (int64_t i = 0; i < extent.constant(); ++i)
    out.parts.push_back({keeps ? b.slice(x, axis, i, i + 1) : b.element(x, axis, i)});
  return out;
}

/// Pieces of the sizes in `split`, a vector of known length.
SequenceParts split_by_sizes(NodeBuilder& b, ValueId x, ValueId split, int64_t count, int64_t axis) {
  Graph& graph = b.graph();
  const NodeId id = graph.add_node(op("Split"), b.name(), {x, split}, static_cast<int>(count), {{"axis", axis}});
  SequenceParts out;
  for (ValueId v : graph.node(id).outputs) out.parts.push_back({v});
  return out;
}

/// Splits into pieces of the sizes in `split`, for any number of pieces. If the sizes do not add up to the input's
/// extent, an index that is out of range ends the run.
SequenceParts split_by_any_sizes(NodeBuilder& b, ValueId x, ValueId split, int64_t axis) {
  const ValueId sizes = b.node("Cast", {split}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}});
  const ValueId sum = b.node("ReduceSum", {sizes}, {{"keepdims", int64_t{0}}});
  const ValueId too_many = b.subtract(sum, b.extent_of(x, axis));
  const ValueId none = zero_or_fail(b, too_many);
  return {{{x, SequencePart::Kind::pieces, b.add(sizes, none), axis}}};
}

/// True if the vector holds a 1 for each of `count` pieces.
bool all_ones(const Graph& graph, ValueId sizes, const Dim& count) {
  const Value& v = graph.value(sizes);
  if (!v.producer.valid() || v.shape->front() != count) return false;
  const Node& n = graph.node(v.producer);
  const TensorRef value = n.tensor_attribute("value");
  return n.op == &op("ConstantOfShape") && value && is_int(value->dtype()) && value->at_int(0) == 1;
}

/// Splits into pieces of `size` (i64, one element); the last piece has the rest.
SequenceParts split_in_any_chunks(NodeBuilder& b, ValueId x, ValueId size, int64_t axis) {
  const ValueId extent = b.extent_of(x, axis);
  const ValueId step =
      b.node("Reshape", {b.node("Cast", {size}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}}), b.ints({})});
  const ValueId starts = b.node("Range", {b.constant(Tensor::scalar_i64(0)), extent, step});
  return {{{x, SequencePart::Kind::pieces, b.node("Min", {b.subtract(extent, starts), step}), axis}}};
}

/// Splits into pieces of `size`; the last piece has the rest.
SequenceParts split_in_chunks(NodeBuilder& b, ValueId x, const Dim& extent, int64_t axis, int64_t size) {
  if (!extent.is_constant()) return split_in_any_chunks(b, x, b.constant(Tensor::scalar_i64(size)), axis);
  SequenceParts out;
  for (int64_t i = 0; i < extent.constant(); i += size)
    out.parts.push_back({b.slice(x, axis, i, std::min(i + size, extent.constant()))});
  return out;
}

/// The element at `position` among pieces of any sizes.
ValueId piece_at(NodeBuilder& b, const SequencePart& p, ValueId position) {
  const ValueId ends = running_sum(b, p.table);
  const auto at = [&](ValueId table) {
    return b.unsqueeze(b.node("Gather", {table, position}, {{"axis", int64_t{0}}}), 0);
  };
  const ValueId end = at(ends), size = at(p.table);
  return b.node("Slice", {p.value, b.subtract(end, size), end, b.ints({p.axis})});
}

bool of_one_shape(const Graph& graph, const SequenceParts& sequence) {
  const auto& first = graph.value(sequence.parts[0].value).shape;
  return std::all_of(sequence.parts.begin(), sequence.parts.end(), [&](const SequencePart& p) {
    const auto& shape = graph.value(p.value).shape;
    return shape && first && *shape == *first;
  });
}

}  // namespace

std::optional<int64_t> known_number(const Graph& graph, ValueId v) {
  const Value& value = graph.value(v);
  if (value.constant && value.constant->elements() == 1) return value.constant->at_int(0);
  if (value.contents && value.contents->size() == 1 && value.contents->front().is_constant())
    return value.contents->front().constant();
  return std::nullopt;
}

std::optional<SequenceParts> split_parts(Graph& graph, const Node& node, std::string& why) {
  const ValueId x = node.inputs[0], split = node.inputs.size() > 1 ? node.inputs[1] : ValueId();
  NodeBuilder b(graph, node.name);
  if (!graph.value(x).shape) return why = "the rank of its input is not known", std::nullopt;
  const Shape shape = *graph.value(x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t attribute = node.int_attribute("axis", 0), axis = attribute < 0 ? attribute + rank : attribute;
  if (axis < 0 || axis >= rank)
    fail("SplitToSequence '", node.name, "': axis ", attribute, " out of range [", -rank, ", ", rank, ")");
  if (!split.valid()) return split_evenly(b, x, shape, axis, node.int_attribute("keepdims", 1) != 0);
  const Value& sizes = graph.value(split);
  if (!sizes.shape) return why = "the rank of its split (one size or several) depends on data", std::nullopt;
  if (sizes.shape->size() == 1 && !sizes.shape->front().is_constant()) {
    if (all_ones(graph, split, shape[static_cast<size_t>(axis)])) return split_evenly(b, x, shape, axis, true);
    return split_by_any_sizes(b, x, split, axis);
  }
  if (sizes.shape->size() == 1) return split_by_sizes(b, x, split, sizes.shape->front().constant(), axis);
  const auto size = known_number(graph, split);
  if (!size) return split_in_any_chunks(b, x, split, axis);
  if (*size < 1) fail("SplitToSequence '", node.name, "': split is ", *size, ", it must be at least 1");
  if (*size == 1) return split_evenly(b, x, shape, axis, true);
  return split_in_chunks(b, x, shape[static_cast<size_t>(axis)], axis, *size);
}

std::optional<SequenceParts> inserted(Graph& graph, const Node& node, SequenceParts sequence, std::string& why) {
  const SequencePart part{node.inputs[1]};
  const ValueId position = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  const auto length = sequence.length();
  if (!position.valid()) {
    sequence.parts.push_back(part);
    return sequence;
  }
  if (length)
    if (const auto at = place(graph, position, *length, *length, node)) {
      sequence.parts.insert(sequence.parts.begin() + *at, part);
      return sequence;
    }
  NodeBuilder b(graph, node.name);
  const auto type = element_type(graph, {{part}});
  const auto one = type ? packed(b, {{part}}, *type) : std::nullopt, all = one ? packed(b, sequence, *type) : one;
  if (!all) return why = kRanks, std::nullopt;
  return SequenceParts{{packed_with(b, *all, *one, position)}, sequence.is_optional};
}

std::optional<SequenceParts> erased(Graph& graph, const Node& node, SequenceParts sequence, std::string& why) {
  const auto length = sequence.length();
  const ValueId position = node.inputs.size() > 1 ? node.inputs[1] : ValueId();
  if (length && *length == 0) fail("SequenceErase '", node.name, "': the sequence is empty");
  if (!position.valid() && sequence.parts.back().is_element()) {
    sequence.parts.pop_back();
    return sequence;
  }
  if (length)
    if (const auto at = place(graph, position, *length, *length - 1, node)) {
      sequence.parts.erase(sequence.parts.begin() + *at);
      return sequence;
    }
  NodeBuilder b(graph, node.name);
  const auto type = element_type(graph, sequence);
  const auto all = type ? packed(b, sequence, *type) : std::nullopt;
  if (!all) return why = kRanks, std::nullopt;
  return SequenceParts{{packed_without(b, *all, position)}, sequence.is_optional};
}

std::optional<ValueId> element_at(Graph& graph, const Node& node, const SequenceParts& sequence, std::string& why) {
  NodeBuilder b(graph, node.name);
  const ValueId position = node.inputs[1];
  const auto length = sequence.length();
  if (length && *length == 0) fail("SequenceAt '", node.name, "': the sequence is empty");
  if (length)
    if (const auto at = place(graph, position, *length, *length - 1, node))
      return sequence.parts[static_cast<size_t>(*at)].value;
  const SequencePart& first = sequence.parts[0];
  const auto gathered = [&](ValueId stacked) { return b.node("Gather", {stacked, position}, {{"axis", int64_t{0}}}); };
  if (sequence.parts.size() == 1 && first.kind == SequencePart::Kind::stacked) return gathered(first.value);
  if (sequence.parts.size() == 1 && first.kind == SequencePart::Kind::pieces) return piece_at(b, first, position);
  if (length && of_one_shape(graph, sequence)) {
    std::vector<ValueId> rows;
    for (const SequencePart& p : sequence.parts) rows.push_back(b.unsqueeze(p.value, 0));
    return gathered(b.concat(rows, 0));
  }
  const auto type = element_type(graph, sequence);
  const auto all = type ? packed(b, sequence, *type) : std::nullopt;
  if (!all) return why = kRanks, std::nullopt;
  return packed_element(b, *all, position);
}

std::optional<ValueId> concatenated(Graph& graph, const Node& node, const SequenceParts& sequence, std::string& why) {
  if (sequence.parts.empty()) fail("ConcatFromSequence '", node.name, "': the sequence is empty");
  const auto type = element_type(graph, sequence);
  if (!type || !ranks_known(graph, sequence)) return why = "the rank of an element is not known", std::nullopt;
  NodeBuilder b(graph, node.name);
  const bool stacks = node.int_attribute("new_axis", 0) != 0;
  const int64_t out_rank = type->rank + (stacks ? 1 : 0);
  const int64_t attribute = node.int_attribute("axis", 0), axis = attribute < 0 ? attribute + out_rank : attribute;
  if (axis < 0 || axis >= out_rank)
    fail("ConcatFromSequence '", node.name, "': axis ", attribute, " out of range [", -out_rank, ", ", out_rank, ")");
  std::vector<ValueId> pieces;
  for (const SequencePart& p : sequence.parts) {
    ValueId piece = p.value;
    if (p.kind == SequencePart::Kind::packed || (p.kind == SequencePart::Kind::pieces && (stacks || p.axis != axis))) {
      const auto all = packed(b, {{p}}, *type);
      if (!all) return why = kRanks, std::nullopt;
      piece = stacks ? packed_stack(b, *all, axis) : packed_join(b, *all, axis);
    } else if (p.kind == SequencePart::Kind::stacked) {
      piece = moved(b, piece, type->rank + 1, 0, axis);
      if (!stacks) piece = merged(b, piece, type->rank + 1, axis);
    } else if (stacks) {
      piece = b.unsqueeze(piece, axis);
    }
    pieces.push_back(piece);
  }
  return b.concat(pieces, axis);
}

ValueId length_of(NodeBuilder& b, const SequenceParts& sequence) {
  int64_t single = 0;
  ValueId sum;
  for (const SequencePart& p : sequence.parts) {
    if (p.is_element()) {
      ++single;
      continue;
    }
    const ValueId count = b.extent_of(p.kind == SequencePart::Kind::stacked ? p.value : p.table, 0);
    sum = sum.valid() ? b.add(sum, count) : count;
  }
  const ValueId apart = b.constant(Tensor::scalar_i64(single));
  return sum.valid() ? b.add(sum, apart) : apart;
}

}  // namespace gcg
