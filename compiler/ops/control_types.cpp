#include "compiler/ops/control_types.h"

#include <algorithm>
#include <set>

#include "compiler/ops/infer_contents.h"

namespace gcg {
namespace {

/// Symbols that are visible outside of the node.
std::set<std::string> outer_symbols(const InferContext& c) {
  std::set<std::string> symbols;
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.has_input(i)) continue;
    const Value& v = c.input(i);
    for (const Dim& d : v.shape.value_or(Shape{})) symbols.merge(d.symbols());
    for (const Dim& d : v.contents.value_or(std::vector<Dim>{})) symbols.merge(d.symbols());
  }
  return symbols;
}

bool all_in(const std::set<std::string>& names, const std::set<std::string>& known) {
  return std::includes(known.begin(), known.end(), names.begin(), names.end());
}

/// Widens `type` where `next` differs; returns true if that changed it.
bool widen(InferContext& c, Value& type, std::vector<bool>& open, const Value& next, size_t k) {
  if (type.dtype != DType::undefined && next.dtype != DType::undefined && type.dtype != next.dtype)
    c.fail(
        concat("carried value ", k, " begins as ", name_of(type.dtype), ", but the body makes ", name_of(next.dtype)));
  if (!type.shape) return false;
  if (!next.shape || next.shape->size() != type.shape->size()) {
    type.shape.reset();
    return true;
  }
  bool changed = false;
  for (size_t d = 0; d < open.size(); ++d) {
    if (open[d] || (*type.shape)[d] == (*next.shape)[d]) continue;
    (*type.shape)[d] = c.fresh_symbol("carried");
    open[d] = true;
    changed = true;
  }
  return changed;
}

int64_t product_of(const std::vector<int64_t>& extents, size_t from, size_t to) {
  int64_t p = 1;
  for (size_t i = from; i < to; ++i) p *= extents[i];
  return p;
}

}  // namespace

Value value_type(DType dtype, std::optional<Shape> shape) {
  Value v;
  v.dtype = dtype;
  v.shape = std::move(shape);
  return v;
}

std::vector<Value> capture_types(const InferContext& c) {
  std::vector<Value> types;
  for (int i = own_inputs(c.node()); i < c.input_count(); ++i) types.push_back(c.input(i));
  return types;
}

std::vector<Tensor> capture_tensors(const ReferenceContext& c) {
  std::vector<Tensor> tensors;
  for (int i = own_inputs(c.node()); i < c.input_count(); ++i) tensors.push_back(*c.input(i));
  return tensors;
}

std::optional<std::vector<Dim>> known_elements(const Value& value) {
  constexpr int64_t kMostElements = 64;
  if (value.contents || !value.constant || is_float(value.dtype) || value.constant->rank() > 1 ||
      value.constant->elements() > kMostElements)
    return value.contents;
  return as_contents(*value.constant);
}

const Value& body_output(const InferContext& c, const std::vector<Value>& outputs, int i) {
  if (static_cast<size_t>(i) >= outputs.size())
    c.fail(concat("it has ", c.output_count(), " outputs, but one of its bodies has ", outputs.size()));
  return outputs[static_cast<size_t>(i)];
}

void set_output_type(InferContext& c, int i, const Value& type) {
  if (type.dtype == DType::undefined) return;
  if (!type.shape) return c.set_output_unranked(i, type.dtype);
  c.set_output(i, type.dtype, *type.shape);
  if (const auto elements = known_elements(type)) c.set_contents(i, *elements);
}

Value merged_type(InferContext& c, const Value& a, const Value& b) {
  if (a.dtype != DType::undefined && b.dtype != DType::undefined && a.dtype != b.dtype)
    c.fail(concat("one branch makes ", name_of(a.dtype), ", the other ", name_of(b.dtype)));
  Value merged = value_type(a.dtype == DType::undefined ? b.dtype : a.dtype, std::nullopt);
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return merged;
  merged.shape = a.shape;
  for (size_t d = 0; d < merged.shape->size(); ++d)
    if (!((*a.shape)[d] == (*b.shape)[d])) (*merged.shape)[d] = c.fresh_symbol("if_extent");
  const auto known_a = known_elements(a), known_b = known_elements(b);
  if (known_a && known_b && *known_a == *known_b) merged.contents = known_a;
  return merged;
}

Value visible_outside(InferContext& c, const Value& type) {
  Value outside = value_type(type.dtype, type.shape);
  if (!outside.shape) return outside;
  const std::set<std::string> known = outer_symbols(c);
  for (Dim& extent : *outside.shape)
    if (!all_in(extent.symbols(), known)) extent = c.fresh_symbol("loop_extent");
  return outside;
}

CarriedValues settle_carried(InferContext& c, const std::vector<Value>& before, const std::vector<Value>& initial,
                             const std::vector<Value>& after, size_t first_output) {
  CarriedValues carried;
  carried.first_output = first_output;
  for (const Value& v : initial) {
    carried.types.push_back(value_type(v.dtype, v.shape));
    carried.open.emplace_back(v.shape ? v.shape->size() : 0, false);
  }
  for (bool changed = true; changed;) {
    std::vector<Value> inputs = before;
    inputs.insert(inputs.end(), carried.types.begin(), carried.types.end());
    inputs.insert(inputs.end(), after.begin(), after.end());
    carried.body_outputs = c.infer_body(0, inputs);
    if (carried.body_outputs.size() < first_output + initial.size() ||
        static_cast<size_t>(c.output_count()) > carried.body_outputs.size() - first_output)
      c.fail(concat("its body has ", carried.body_outputs.size(), " outputs; ", initial.size(),
                    " values are carried and ", c.output_count(), " leave the node"));
    changed = false;
    for (size_t k = 0; k < initial.size(); ++k)
      changed |= widen(c, carried.types[k], carried.open[k], carried.body_outputs[first_output + k], k);
  }
  return carried;
}

Value final_type(InferContext& c, const CarriedValues& carried, size_t k, const Value& initial,
                 const std::optional<Dim>& trips) {
  Value type = value_type(carried.types[k].dtype, carried.types[k].shape);
  if (!type.shape) return type;
  for (size_t d = 0; d < type.shape->size(); ++d) {
    if (!carried.open[k][d]) continue;
    const Dim growth = (*carried.body_outputs[carried.first_output + k].shape)[d] - (*type.shape)[d];
    (*type.shape)[d] =
        trips && growth.is_constant() ? (*initial.shape)[d] + *trips * growth : c.fresh_symbol("carried_out");
  }
  return type;
}

Tensor slice_at(const Tensor& tensor, int64_t axis, int64_t at) {
  const auto a = static_cast<size_t>(axis);
  std::vector<int64_t> shape = tensor.shape();
  const int64_t extent = shape[a], outer = product_of(shape, 0, a);
  const int64_t inner = product_of(shape, a + 1, shape.size()) * size_of(tensor.dtype());
  shape.erase(shape.begin() + axis);
  Tensor part(tensor.dtype(), shape);
  for (int64_t o = 0; o < outer && inner > 0; ++o)
    std::memcpy(part.mutable_data() + o * inner, tensor.data() + (o * extent + at) * inner, static_cast<size_t>(inner));
  return part;
}

Tensor stack(const std::vector<Tensor>& parts, int64_t axis, const Value& part_type) {
  std::vector<int64_t> shape;
  if (!parts.empty())
    shape = parts[0].shape();
  else
    for (const Dim& d : *part_type.shape) shape.push_back(d.is_constant() ? d.constant() : 0);
  for (const Tensor& part : parts)
    if (part.shape() != shape)
      fail("the elements of a scan output differ in shape: ", str(to_shape(shape)), " and ",
           str(to_shape(part.shape())));
  const int64_t outer = product_of(shape, 0, static_cast<size_t>(axis));
  const int64_t inner = product_of(shape, static_cast<size_t>(axis), shape.size()) * size_of(part_type.dtype);
  const auto count = static_cast<int64_t>(parts.size());
  shape.insert(shape.begin() + axis, count);
  Tensor tensor(part_type.dtype, shape);
  for (int64_t o = 0; o < outer && inner > 0; ++o)
    for (int64_t p = 0; p < count; ++p)
      std::memcpy(tensor.mutable_data() + (o * count + p) * inner, parts[static_cast<size_t>(p)].data() + o * inner,
                  static_cast<size_t>(inner));
  return tensor;
}

}  // namespace gcg
