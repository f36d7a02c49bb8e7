#include "compiler/passes/unsigned_bytes.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/node_copy.h"

namespace gcg {
namespace {

constexpr int64_t kShift = 128;

/// Turns i8 constants into u8 constants by adding 128.
Tensor shifted_constant(const Tensor& t) {
  Tensor out(DType::u8, t.shape());
  for (int64_t i = 0; i < t.elements(); ++i) out.set_int(i, t.at_int(i) + kShift);
  return out;
}

/// True for operators that only select elements of their first input.
bool chooses(const Node& n) {
  const bool moves = n.op->kind == OpKind::view || n.op == &op_Transpose || n.op == &op_Slice || n.op == &op_MaxPool;
  return moves && n.outputs.size() == 1 && n.op != &op_BitCast;
}

}  // namespace

UnsignedBytes::Operand UnsignedBytes::operand(const Node& n, size_t i) {
  const ValueId x = n.inputs[i], zero = i + 2 < n.inputs.size() ? n.inputs[i + 2] : ValueId();
  if (r_.value(x).dtype == DType::u8) return {x, is_all(r_.constant(zero), 0) ? ValueId() : zero};
  if (zero.valid() && !r_.constant(zero)) return {counterpart(x), shifted(zero, n.name)};
  const Tensor number = zero.valid() ? shifted_constant(*r_.constant(zero)) : shifted_constant(Tensor(DType::i8, {}));
  if (is_all(&number, 0)) return {counterpart(x), ValueId()};
  return {counterpart(x), r_.add_constant(n.name + ".zero", number)};
}

ValueId UnsignedBytes::counterpart(ValueId v) {
  if (const auto known = unsigned_.find(v); known != unsigned_.end()) return known->second;
  ValueId replacement = requantized(v);
  if (!replacement.valid()) replacement = moved(v);
  if (replacement.valid())
    redirect(v, replacement);
  else
    replacement = shifted(v, r_.value(v).name);
  return unsigned_[v] = replacement;
}

ValueId UnsignedBytes::shifted(ValueId v, const std::string& name) {
  // Adding 128 flips the sign bit, so values stay bytes on the way.
  Tensor sign(DType::u8, {});
  sign.set_int(0, kShift);
  const ValueId bits = r_.add(op_Cast, name, {v}, {{"to", int64_t{dtype_to_onnx(DType::u8)}}});
  return r_.add(op_BitwiseXor, name, {bits, r_.add_constant("sign", std::move(sign))});
}

/// Makes each node that dequantises `v` with a constant zero point read the counterpart.
void UnsignedBytes::redirect(ValueId v, ValueId counterpart) {
  for (NodeId id : r_.graph.order()) {
    const Node n = copy_of(r_.graph.node(id));
    if (n.op != &op_DequantizeLinear || n.inputs[0] != v) continue;
    const bool has_zero = n.inputs.size() > 2 && n.inputs[2].valid();
    if (has_zero && !r_.constant(n.inputs[2])) continue;
    const Tensor zero =
        has_zero ? shifted_constant(*r_.constant(n.inputs[2])) : shifted_constant(Tensor(DType::i8, {}));
    const ValueId y = r_.add(op_DequantizeLinear, n.name,
                             {counterpart, n.inputs[1], r_.add_constant(n.name + ".zero", zero)}, n.attributes);
    if (r_.replace(n.outputs[0], y)) r_.erase_if_dead(id);
  }
}

/// The counterpart of the result of a QuantizeLinear with a constant zero point: the same node with another zero point.
ValueId UnsignedBytes::requantized(ValueId v) {
  const Node* q = r_.producer(v, op_QuantizeLinear);
  if (!q || q->inputs.size() < 3 || !r_.constant(q->inputs[2])) return ValueId();
  const Node n = copy_of(*q);
  std::map<std::string, Attribute> attributes = n.attributes;
  attributes.erase("output_dtype");
  const ValueId zero = r_.add_constant(n.name + ".zero", shifted_constant(*r_.constant(n.inputs[2])));
  return r_.add(op_QuantizeLinear, n.name, {n.inputs[0], n.inputs[1], zero}, attributes);
}

/// The counterpart of a selection: selects the same elements of the input's counterpart.
ValueId UnsignedBytes::moved(ValueId v) {
  if (!r_.value(v).producer.valid()) return ValueId();
  const Node n = copy_of(r_.graph.node(r_.value(v).producer));
  if (!chooses(n)) return ValueId();
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = counterpart(inputs[0]);
  return r_.add(*n.op, n.name, inputs, n.attributes);
}

}  // namespace gcg
