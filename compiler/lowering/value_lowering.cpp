#include "compiler/lowering/value_lowering.h"

#include <algorithm>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/flat_loops.h"
#include "compiler/ops/index.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {

class NodeLowerContext final : public LowerContext {
 public:
  NodeLowerContext(ValueLowering& parent, const Node& node) : parent_(parent), node_(node) {}

  const Node& node() const override { return node_; }
  const Value& input_value(int i) const override { return parent_.graph_.value(node_.inputs[static_cast<size_t>(i)]); }
  const Value& output_value(int i) const override {
    return parent_.graph_.value(node_.outputs[static_cast<size_t>(i)]);
  }
  Expr input(int i, const std::vector<Expr>& index) override {
    return parent_.element(node_.inputs[static_cast<size_t>(i)], index);
  }
  Expr flat_input(int i, const Expr& position) override {
    return parent_.flat_element(node_.inputs[static_cast<size_t>(i)], position);
  }
  Axis fresh_axis(const Dim& extent) override {
    const Axis axis = parent_.fresh_axis(extent);
    parent_.extents_[axis.id] = extent;
    return axis;
  }

 private:
  ValueLowering& parent_;
  const Node& node_;
};

namespace {

/// The literal of a constant with one element; null for larger ones.
Expr literal(const Value& value) {
  if (!value.is_constant() || value.constant->elements() != 1) return nullptr;
  if (is_float(value.dtype)) return constant_float(value.dtype, value.constant->at_double(0));
  const DType stored = storage_dtype(value.dtype);
  const Tensor element(stored, value.constant->shape(), value.constant->data(), nullptr);
  return constant_int(stored, element.at_int(0));
}

/// The difference between neighbouring elements of an integer constant along each dimension; empty if it is not
/// constant.
std::vector<int64_t> even_steps(const Tensor& t) {
  constexpr int64_t kMostElements = 1 << 16;
  const std::vector<int64_t>& shape = t.shape();
  if (t.elements() < 2 || t.elements() > kMostElements) return {};
  std::vector<int64_t> steps(shape.size()), at(shape.size());
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1, apart = 1; d >= 0; apart *= shape[static_cast<size_t>(d--)])
    if (shape[static_cast<size_t>(d)] > 1) steps[static_cast<size_t>(d)] = t.at_int(apart) - t.at_int(0);
  int64_t expected = t.at_int(0);
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (t.at_int(i) != expected) return {};
    for (size_t d = shape.size(); d-- > 0;) {
      expected += steps[d];
      if (++at[d] < shape[d]) break;
      expected -= steps[d] * at[d];
      at[d] = 0;
    }
  }
  return steps;
}

std::string index_key(const std::vector<Expr>& index) {
  std::string k;
  for (const Expr& e : index) k += key(e) + "/";
  return k;
}

}  // namespace

std::vector<Axis> ValueLowering::axes_for(const Shape& shape) {
  std::vector<Axis> axes;
  for (const Dim& d : shape) {
    axes.push_back(fresh_axis(d));
    extents_[axes.back().id] = d;
  }
  return axes;
}

int ValueLowering::operand_number(ValueId value, ValueId storage) {
  const Value& v = graph_.value(value);
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Value& o = graph_.value(operands_[i].value);
    if (operands_[i].storage == storage && *o.shape == *v.shape && o.dtype == v.dtype) return static_cast<int>(i);
  }
  operands_.push_back({value, storage});
  return static_cast<int>(operands_.size()) - 1;
}

Expr ValueLowering::even_element(ValueId v, const std::vector<Expr>& at) {
  const Value& value = graph_.value(v);
  if (!value.is_constant() || value.dtype != DType::i64 || std::any_of(at.begin(), at.end(), is_data)) return nullptr;
  const auto [steps, is_new] = even_steps_.try_emplace(v);
  if (is_new) steps->second = even_steps(*value.constant);
  if (steps->second.empty()) return nullptr;
  Expr e = index(value.constant->at_int(0));
  for (size_t d = 0; d < at.size(); ++d) e = e + at[d] * index(steps->second[d]);
  return e;
}

Expr ValueLowering::band_element(ValueId v, const std::vector<Expr>& at) {
  const Value& value = graph_.value(v);
  const bool is_number = value.dtype == DType::f32 || value.dtype == DType::boolean || value.dtype == DType::u8;
  if (!computes_bands_ || !value.is_constant() || !is_number || at.size() < 2) return nullptr;
  const auto [found, is_new] = bands_.try_emplace(v);
  if (is_new) found->second = band_of(*value.constant);
  if (!found->second) return nullptr;
  const Band& band = *found->second;
  const Expr &row = at[at.size() - 2], &column = at.back();
  Expr holds = boolean(true);
  if (band.last) holds = binary(BinaryOp::less_equal, column, row + index(*band.last));
  if (band.first) {
    const Expr begun = binary(BinaryOp::greater_equal, column, row + index(*band.first));
    holds = band.last ? binary(BinaryOp::logical_and, holds, begun) : begun;
  }
  if (value.dtype == DType::boolean) return band.inside != 0 ? holds : unary(UnaryOp::logical_not, holds);
  const auto number = [&](double x) {
    return value.dtype == DType::f32 ? constant_float(DType::f32, x)
                                     : constant_int(value.dtype, static_cast<int64_t>(x));
  };
  return select(holds, number(band.inside), number(band.outside));
}

Expr ValueLowering::symbolic_content(const Value& value, const std::vector<Expr>& index_) {
  const auto& elements = *value.contents;
  GCG_CHECK(!elements.empty(), "element of an empty shape tensor '", value.name, "'");
  Expr e = cast(value.dtype, extent(elements.back()));
  if (elements.size() == 1) return e;
  const Expr at = linear_index(index_, *value.shape, extents_);
  for (size_t i = elements.size() - 1; i-- > 0;)
    e = select(binary(BinaryOp::equal, at, index(static_cast<int64_t>(i))), cast(value.dtype, extent(elements[i])), e);
  return e;
}

Expr ValueLowering::element(ValueId v, const std::vector<Expr>& index) {
  if (auto it = bound_.find(v); it != bound_.end()) return it->second(index);
  const Value& value = graph_.value(v);
  if (Expr e = literal(value)) return e;
  if (Expr e = even_element(v, index)) return e;
  if (Expr e = band_element(v, index)) return e;
  if (value.contents && !value.is_constant()) return symbolic_content(value, index);
  const auto memo_key = std::pair(v, index_key(index));
  if (auto it = memo_.find(memo_key); it != memo_.end()) return it->second;
  const ValueId storage = stored_(v);
  Expr e;
  if (storage.valid()) {
    std::vector<Expr> simple;
    for (const Expr& i : index) simple.push_back(simplify_index(i, extents_));
    // An extent of 1 has only element 0. An operator's own check of the index stays.
    for (size_t d = 0; d < simple.size(); ++d)
      if (broadcasts((*value.shape)[d]) && !is_checked_index(simple[d])) simple[d] = gcg::index(0);
    const Value& in_memory = graph_.value(storage);
    const DType stored = in_memory.stored;
    e = load(operand_number(v, storage), stored == DType::undefined ? storage_dtype(value.dtype) : stored,
             in_memory.in_memory(std::move(simple)));
    if (stored != DType::undefined) e = cast(value.dtype, e);
  } else {
    e = computed(v, index);
  }
  memo_.emplace(memo_key, e);
  return e;
}

Expr ValueLowering::flat_element(ValueId v, const Expr& position) {
  const Value& value = graph_.value(v);
  const ValueId storage = stored_(v);
  const bool direct = storage.valid() && !literal(value) && (value.is_constant() || !value.contents) &&
                      bound_.count(v) == 0 && !graph_.value(storage).channels_last &&
                      graph_.value(storage).stored == DType::undefined;
  if (!direct) return element(v, delinearize(position, *value.shape));
  return load(operand_number(v, storage), storage_dtype(value.dtype), {simplify_index(position, extents_)});
}

std::unique_ptr<LowerContext> ValueLowering::context(const Node& node) {
  return std::make_unique<NodeLowerContext>(*this, node);
}

Expr ValueLowering::computed(ValueId v, const std::vector<Expr>& index) {
  const Value& value = graph_.value(v);
  GCG_CHECK(value.producer.valid(), "value '", value.name, "' has neither storage nor producer");
  const Node& node = graph_.node(value.producer);
  if (node.op->lower == nullptr) fail(node.op->name, " '", node.name, "': there is no kernel for this operator");
  NodeLowerContext context(*this, node);
  Expr e = node.op->lower(context, value.output_index, index);
  GCG_CHECK(e && e->dtype == storage_dtype(value.dtype), node.op->name, " '", node.name, "' lowers to ",
            e ? name_of(e->dtype) : "nothing", ", but its output is ", name_of(value.dtype));
  return e;
}

}  // namespace gcg
