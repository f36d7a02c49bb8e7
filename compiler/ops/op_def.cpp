#include "compiler/ops/op_def.h"

#include "compiler/support/error.h"

namespace gcg {

// ---- Traits ---------------------------------------------------------------------------------------------------------

Cost OpDef::cost() const {
  if (traits.cost != Cost::by_kind) return traits.cost;
  return kind == OpKind::view || kind == OpKind::generator ? Cost::cheap : Cost::plain;
}

Reads OpDef::reads() const {
  if (traits.reads != Reads::by_kind) return traits.reads;
  return kind == OpKind::contraction ? Reads::window : Reads::once;
}

Narrow OpDef::narrow() const {
  if (traits.narrow != Narrow::by_kind) return traits.narrow;
  const bool links =
      kind == OpKind::pointwise || kind == OpKind::movement || kind == OpKind::view || kind == OpKind::contraction;
  return links ? Narrow::links : Narrow::no;
}

// ---- Lowering -------------------------------------------------------------------------------------------------------

Expr LowerContext::broadcast_input(int i, const std::vector<Expr>& output_index) {
  const Shape& shape = input_shape(i);
  GCG_CHECK(shape.size() <= output_index.size(), "broadcast of a tensor of higher rank");
  const size_t skipped = output_index.size() - shape.size();
  std::vector<Expr> index_of_input;
  for (size_t d = 0; d < shape.size(); ++d)
    index_of_input.push_back(broadcasts(shape[d]) ? index(0) : output_index[skipped + d]);
  return input(i, index_of_input);
}

// ---- Upgrade --------------------------------------------------------------------------------------------------------

void UpgradeContext::set_input(size_t i, Tensor tensor) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1);
  const std::string& base = node.name.empty() ? std::string(node.op ? node.op->name : "constant") : node.name;
  node.inputs[i] = graph.add_constant(base, std::move(tensor));
}

void UpgradeContext::attribute_to_input(const std::string& attribute, size_t i) {
  if (!node.has_attribute(attribute)) return;
  const std::vector<int64_t> values = node.ints_attribute(attribute);
  node.attributes.erase(attribute);
  set_input(i, Tensor::vector_i64(values));
}

}  // namespace gcg
