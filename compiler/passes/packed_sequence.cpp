#include "compiler/passes/packed_sequence.h"

#include <numeric>
#include <string>

namespace gcg {
namespace {

ValueId number(NodeBuilder& b, int64_t value) { return b.constant(Tensor::scalar_i64(value)); }

ValueId as_scalar_i64(NodeBuilder& b, ValueId v) {
  return b.node("Cast", {b.node("Reshape", {v, b.ints({})})}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}});
}

ValueId flat(NodeBuilder& b, ValueId x) { return b.node("Reshape", {x, b.ints({-1})}); }

ValueId at(NodeBuilder& b, ValueId table, ValueId position) {
  return b.node("Gather", {table, position}, {{"axis", int64_t{0}}});
}

ValueId reshaped(NodeBuilder& b, ValueId x, ValueId shape) {
  return b.node("Reshape", {x, shape}, {{"allowzero", int64_t{1}}});
}

ValueId total(NodeBuilder& b, ValueId x) { return b.node("ReduceSum", {x}, {{"keepdims", int64_t{0}}}); }

/// The product of the elements [from, to) of a vector.
ValueId product_of(NodeBuilder& b, ValueId vector, int64_t from, int64_t to) {
  return b.node("ReduceProd", {b.slice(vector, 0, from, to)}, {{"keepdims", int64_t{0}}});
}

/// x[from:to] along the first dimension; without `to`, up to the end.
ValueId rows(NodeBuilder& b, ValueId x, ValueId from, ValueId to) {
  const ValueId end = to.valid() ? b.unsqueeze(to, 0) : b.node("Shape", {x}, {{"end", int64_t{1}}});
  return b.node("Slice", {x, b.unsqueeze(from, 0), end, b.ints({0})});
}

/// The number of elements of each tensor in the sequence.
ValueId sizes(NodeBuilder& b, const SequencePart& p) {
  return b.node("ReduceProd", {p.table, b.ints({1})}, {{"keepdims", int64_t{0}}});
}

/// The start offset of each item, if items of these `sizes` follow each other.
ValueId starts(NodeBuilder& b, ValueId sizes) { return b.subtract(running_sum(b, sizes), sizes); }

/// 0 if shapes differ at most in column `but`; otherwise not 0.
ValueId differences(NodeBuilder& b, const SequencePart& p, ValueId shape, int64_t but) {
  std::vector<int64_t> counts(static_cast<size_t>(p.axis), 1);
  if (but >= 0) counts[static_cast<size_t>(but)] = 0;
  const ValueId differ = b.node("Not", {b.node("Equal", {p.table, shape})});
  const ValueId ones = b.node("Cast", {differ}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}});
  return total(b, b.multiply(ones, b.ints(counts)));
}

/// [outer, sum of sizes, inner] holds elements [outer, size, inner] side by side. The packed vector holds one element
/// after the other. Returns each number's position in the packed vector.
ValueId places_after(NodeBuilder& b, ValueId sizes, ValueId outer, ValueId inner) {
  const ValueId ends = running_sum(b, sizes), extent = total(b, sizes), zero = number(b, 0), one = number(b, 1);
  // The number of elements that end at or before a position is the number of the element at this position.
  const ValueId none = b.node("Expand", {b.ints({0}), b.unsqueeze(b.add(extent, one), 0)});
  const ValueId count = b.node("Expand", {b.ints({1}), b.node("Shape", {sizes})});
  const ValueId ending =
      b.node("ScatterElements", {none, ends, count}, {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  const ValueId element = rows(b, running_sum(b, ending), zero, extent);

  const ValueId along = b.node("Range", {zero, extent, one});
  const ValueId stride = b.multiply(at(b, sizes, element), inner);
  const ValueId inside = b.multiply(b.subtract(along, at(b, starts(b, sizes), element)), inner);
  const ValueId begin = at(b, starts(b, b.multiply(b.multiply(sizes, outer), inner)), element);
  const auto as = [&](ValueId v, int64_t before) {  // of dimension 0, 1 or 2
    const std::vector<int64_t> others = before == 0   ? std::vector<int64_t>{1, 2}
                                        : before == 1 ? std::vector<int64_t>{0, 2}
                                                      : std::vector<int64_t>{0, 1};
    return b.node("Unsqueeze", {v, b.ints(others)});
  };
  const ValueId down = as(b.node("Range", {zero, outer, one}), 0), across = as(b.node("Range", {zero, inner, one}), 2);
  return flat(b, b.add(b.add(b.multiply(down, as(stride, 1)), as(b.add(begin, inside), 1)), across));
}

/// The shapes, [count, rank], of a part that is not packed yet.
ValueId shapes(NodeBuilder& b, const SequencePart& p, int64_t rank) {
  const ValueId shape = b.node("Shape", {p.value});
  if (p.is_element()) return b.unsqueeze(shape, 0);
  const ValueId count =
      b.node("Shape", {p.kind == SequencePart::Kind::stacked ? p.value : p.table}, {{"end", int64_t{1}}});
  const auto repeated = [&](ValueId row) {
    return b.node("Expand", {b.unsqueeze(row, 0), b.concat({count, b.node("Shape", {row})}, 0)});
  };
  if (p.kind == SequencePart::Kind::stacked) return repeated(b.slice(shape, 0, 1, rank + 1));
  std::vector<ValueId> columns;
  if (p.axis > 0) columns.push_back(repeated(b.slice(shape, 0, 0, p.axis)));
  columns.push_back(b.unsqueeze(p.table, 1));
  if (p.axis + 1 < rank) columns.push_back(repeated(b.slice(shape, 0, p.axis + 1, rank)));
  return b.concat(columns, 1);
}

/// Joins pieces along any axis one after the other.
ValueId numbers(NodeBuilder& b, const SequencePart& p, int64_t rank) {
  if (p.kind != SequencePart::Kind::pieces || p.axis == 0) return flat(b, p.value);
  const ValueId shape = b.node("Shape", {p.value});
  const ValueId places =
      places_after(b, p.table, product_of(b, shape, 0, p.axis), product_of(b, shape, p.axis + 1, rank));
  const ValueId x = flat(b, p.value);
  return b.node("ScatterElements", {x, places, x}, {{"axis", int64_t{0}}});
}

}  // namespace

ValueId running_sum(NodeBuilder& b, ValueId vector) { return b.node("CumSum", {vector, number(b, 0)}); }

ValueId zero_or_fail(NodeBuilder& b, ValueId v) {
  const ValueId outside = b.multiply(v, number(b, 3));  // a v other than 0 becomes an index outside of [-2, 2)
  return at(b, b.ints({0, 1}), outside);
}

std::optional<ElementType> element_type(const Graph& graph, const SequenceParts& sequence) {
  for (const SequencePart& p : sequence.parts) {
    const Value& v = graph.value(p.value);
    if (v.dtype == DType::undefined) continue;
    if (p.kind == SequencePart::Kind::packed) return ElementType{v.dtype, p.axis};
    if (v.shape)
      return ElementType{v.dtype,
                         static_cast<int64_t>(v.shape->size()) - (p.kind == SequencePart::Kind::stacked ? 1 : 0)};
  }
  return std::nullopt;
}

std::optional<SequencePart> packed(NodeBuilder& b, const SequenceParts& sequence, ElementType type) {
  if (sequence.parts.size() == 1 && sequence.parts[0].kind == SequencePart::Kind::packed) return sequence.parts[0];
  std::vector<ValueId> values, tables;
  for (const SequencePart& p : sequence.parts) {
    const auto own = element_type(b.graph(), {{p}});
    if (!own || own->rank != type.rank) return std::nullopt;
    values.push_back(p.kind == SequencePart::Kind::packed ? p.value : numbers(b, p, type.rank));
    tables.push_back(p.kind == SequencePart::Kind::packed ? p.table : shapes(b, p, type.rank));
  }
  if (values.empty()) {
    values.push_back(b.constant(Tensor(type.dtype, {0})));
    tables.push_back(b.constant(Tensor(DType::i64, {0, type.rank})));
  }
  return SequencePart{b.concat(values, 0), SequencePart::Kind::packed, b.concat(tables, 0), type.rank};
}

ValueId packed_element(NodeBuilder& b, const SequencePart& sequence, ValueId position) {
  const ValueId place = as_scalar_i64(b, position), all = sizes(b, sequence);
  const ValueId begin = at(b, starts(b, all), place), end = b.add(begin, at(b, all, place));
  return reshaped(b, rows(b, sequence.value, begin, end), at(b, sequence.table, place));
}

SequencePart packed_with(NodeBuilder& b, const SequencePart& sequence, const SequencePart& more, ValueId position) {
  SequencePart out = sequence;
  if (!position.valid()) {
    out.value = b.concat({sequence.value, more.value}, 0);
    out.table = b.concat({sequence.table, more.table}, 0);
    return out;
  }
  const ValueId count = b.extent_of(sequence.table, 0), zero = number(b, 0);
  const auto if_negative = [&](ValueId v, ValueId then) {
    return b.node("Where", {b.node("Less", {v, zero}), then, v});
  };
  const ValueId after = b.add(count, number(b, 1)), requested = as_scalar_i64(b, position);
  const ValueId place = if_negative(if_negative(requested, b.add(requested, count)), after);
  const ValueId begins = b.concat({b.ints({0}), running_sum(b, sizes(b, sequence))}, 0);
  const auto around = [&](ValueId x, ValueId middle, ValueId cut) {
    return b.concat({rows(b, x, zero, cut), middle, rows(b, x, cut, ValueId())}, 0);
  };
  out.value = around(sequence.value, more.value, at(b, begins, place));
  out.table = around(sequence.table, more.table, place);
  return out;
}

SequencePart packed_without(NodeBuilder& b, const SequencePart& sequence, ValueId position) {
  const ValueId zero = number(b, 0), one = number(b, 1), all = sizes(b, sequence);
  const ValueId requested = position.valid() ? as_scalar_i64(b, position) : number(b, -1);
  const ValueId place = at(b, b.node("Range", {zero, b.extent_of(sequence.table, 0), one}), requested);
  const ValueId begin = at(b, starts(b, all), place);
  const auto without = [&](ValueId x, ValueId from, ValueId to) {
    return b.concat({rows(b, x, zero, from), rows(b, x, to, ValueId())}, 0);
  };
  SequencePart out = sequence;
  out.value = without(sequence.value, begin, b.add(begin, at(b, all, place)));
  out.table = without(sequence.table, place, b.add(place, one));
  return out;
}

ValueId packed_join(NodeBuilder& b, const SequencePart& sequence, int64_t axis) {
  const int64_t rank = sequence.axis;
  const ValueId first = at(b, sequence.table, number(b, 0)),
                equal = zero_or_fail(b, differences(b, sequence, first, axis));
  const ValueId extents = b.element(sequence.table, 1, axis);
  std::vector<ValueId> shape;
  if (axis > 0) shape.push_back(b.slice(first, 0, 0, axis));
  shape.push_back(b.unsqueeze(b.add(total(b, extents), equal), 0));
  if (axis + 1 < rank) shape.push_back(b.slice(first, 0, axis + 1, rank));
  if (axis == 0) return reshaped(b, sequence.value, b.concat(shape, 0));
  const ValueId places = places_after(b, extents, product_of(b, first, 0, axis), product_of(b, first, axis + 1, rank));
  return reshaped(b, at(b, sequence.value, places), b.concat(shape, 0));
}

ValueId packed_stack(NodeBuilder& b, const SequencePart& sequence, int64_t axis) {
  const ValueId first = at(b, sequence.table, number(b, 0));
  const ValueId count = b.add(b.extent_of(sequence.table, 0), zero_or_fail(b, differences(b, sequence, first, -1)));
  const ValueId stacked = reshaped(b, sequence.value, b.concat({b.unsqueeze(count, 0), first}, 0));
  std::vector<int64_t> order(static_cast<size_t>(sequence.axis));
  std::iota(order.begin(), order.end(), 1);
  order.insert(order.begin() + axis, 0);
  return axis == 0 ? stacked : b.transpose(stacked, order);
}

}  // namespace gcg
