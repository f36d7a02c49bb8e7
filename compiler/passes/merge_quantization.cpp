#include "compiler/passes/merge_quantization.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/node_copy.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

bool repeats_pixels(const Node& n) {
  return n.op == &op_Resize && n.string_attribute("mode", "nearest") == "nearest" &&
         n.string_attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
}

/// True for operators that only select elements of their inputs and support bytes.
bool chooses(const Node& n) {
  if (n.op == &op_Split || repeats_pixels(n)) return true;
  if (n.outputs.size() != 1 || n.op == &op_BitCast) return false;
  return n.op->kind == OpKind::view || n.op == &op_Transpose || n.op == &op_Slice || n.op == &op_MaxPool ||
         n.op == &op_Concat || n.op == &op_Gather || n.op == &op_GatherElements || n.op == &op_GatherND ||
         n.op == &op_Expand || n.op == &op_Tile;
}

class QuantizationMerger {
  static constexpr int kMostBetween = 16;  // the most nodes in a chain of selecting nodes

 public:
  explicit QuantizationMerger(Rewriter& r) : r_(r) {}

  bool quantize(NodeId id) {
    const Node n = copy_of(r_.graph.node(id));
    if (!is_byte(r_.value(n.outputs[0]).dtype) || !is_uniform(n)) return false;
    const ValueId merged = undone(n);
    if (merged.valid() ? take_place(n, merged) : take_factor(n) || pass_concat(n)) {
      r_.erase_if_dead(id);
      return true;
    }
    return drop_axis(id);
  }

  /// Removes the axis, because a single scale and zero point need none.
  bool drop_axis(NodeId id) {
    Node& n = r_.graph.node(id);
    if (!n.has_attribute("axis") || !is_uniform(n)) return false;
    n.attributes.erase("axis");
    return true;
  }

 private:
  static bool has_zero(const Node& n) { return n.inputs.size() > 2 && n.inputs[2].valid(); }
  const Tensor* zero_of(const Node& n) const { return has_zero(n) ? r_.constant(n.inputs[2]) : nullptr; }
  /// One constant scale and zero point.
  bool is_uniform(const Node& n) const {
    const Tensor* scale = r_.constant(n.inputs[1]);
    if (!scale || scale->elements() != 1 || scale->dtype() != DType::f32 || n.int_attribute("block_size", 0) != 0)
      return false;
    return !has_zero(n) || (zero_of(n) && zero_of(n)->elements() == 1);
  }
  int64_t zero_number(const Node& n) const { return has_zero(n) ? zero_of(n)->at_int(0) : 0; }

  /// True if all elements of `v` are constants, or were dequantised with the scale and zero point of `q`. Nothing else
  /// may read the values in between.
  bool is_undone(ValueId v, const Node& q, int nodes = kMostBetween) const {
    if (quantized(v, q).valid() || (nodes < kMostBetween && is_table(v))) return true;
    const NodeId producer = r_.value(v).producer;
    if (nodes == 0 || !producer.valid() || r_.uses(v) != 1) return false;
    const Node& n = r_.graph.node(producer);
    const auto data = chosen_from(n);
    return chooses(n) && std::all_of(data.begin(), data.end(), [&](ValueId in) { return is_undone(in, q, nodes - 1); });
  }
  /// True for a constant from which elements are only selected: it is quantised at compile time.
  bool is_table(ValueId v) const { return r_.constant(v) && r_.value(v).dtype == DType::f32 && r_.uses(v) == 1; }
  /// The operands that the node selects elements from.
  static std::span<const ValueId> chosen_from(const Node& n) {
    return std::span(n.inputs).first(n.op == &op_Concat ? n.inputs.size() : std::min<size_t>(n.inputs.size(), 1));
  }

  /// The quantised elements of a value for which is_undone() is true.
  ValueId undo(ValueId v, const Node& q) {
    if (const ValueId same = quantized(v, q); same.valid()) return same;
    if (is_table(v)) {
      std::vector<ValueId> inputs = q.inputs;
      inputs[0] = v;
      return r_.add(op_QuantizeLinear, q.name, inputs, q.attributes);
    }
    const Node n = copy_of(r_.graph.node(r_.value(v).producer));
    std::vector<ValueId> inputs = n.inputs;
    for (size_t i = 0; i < chosen_from(n).size(); ++i) inputs[i] = undo(inputs[i], q);
    const NodeId same = r_.graph.add_node(*n.op, n.name, inputs, static_cast<int>(n.outputs.size()), n.attributes);
    infer_node(r_.graph, same, r_.outermost);
    return r_.graph.node(same).outputs[static_cast<size_t>(r_.value(v).output_index)];
  }

  /// Replaces the result of `q`. A graph output that is also an input or another output becomes a copy.
  bool take_place(const Node& q, ValueId merged) {
    return r_.replace(q.outputs[0], merged) || r_.replace(q.outputs[0], r_.add(op_Identity, q.name, {merged}));
  }

  /// The quantised elements that `q` restores; invalid if it restores none.
  ValueId undone(const Node& q) { return is_undone(q.inputs[0], q) ? undo(q.inputs[0], q) : ValueId(); }

  /// The quantised input of the node that makes `v`, if that node dequantises with the scale and zero point of `q`.
  /// Otherwise invalid.
  ValueId quantized(ValueId v, const Node& q) const {
    const Node* d = r_.producer(v, op_DequantizeLinear);
    if (!d || !is_uniform(*d) || r_.value(d->inputs[0]).dtype != r_.value(q.outputs[0]).dtype) return ValueId();
    const bool same = r_.constant(d->inputs[1])->at_double(0) == r_.constant(q.inputs[1])->at_double(0) &&
                      zero_number(*d) == zero_number(q);
    return same ? d->inputs[0] : ValueId();
  }

  /// Quantises the parts of a concatenation where they are computed.
  bool pass_concat(const Node& q) {
    const Node* concat = r_.producer(q.inputs[0], op_Concat);
    if (!concat || r_.uses(q.inputs[0]) != 1) return false;
    const Node n = copy_of(*concat);
    std::vector<ValueId> parts;
    for (ValueId in : n.inputs) {
      std::vector<ValueId> inputs = q.inputs;
      inputs[0] = in;
      std::map<std::string, Attribute> attributes = q.attributes;
      attributes.erase("axis");
      parts.push_back(r_.add(op_QuantizeLinear, q.name, inputs, attributes));
    }
    return r_.replace(q.outputs[0], r_.add(*n.op, n.name, parts, n.attributes));
  }

  bool take_factor(const Node& q) {
    const double scale = r_.constant(q.inputs[1])->at_double(0);
    const int64_t lowest = r_.value(q.outputs[0]).dtype == DType::u8 ? 0 : -128;
    if (!(scale > 0) || scale == 1) return false;
    const ValueId x = divided(q.inputs[0], static_cast<float>(scale), zero_number(q) == lowest);
    if (!x.valid()) return false;
    Tensor one(DType::f32, {});
    one.set_double(0, 1);
    std::vector<ValueId> inputs = q.inputs;
    inputs[0] = x;
    inputs[1] = r_.add_constant(q.name + ".scale", std::move(one));
    return r_.replace(q.outputs[0], r_.add(op_QuantizeLinear, q.name, inputs, q.attributes));
  }

  Tensor quotient(const Tensor& t, float scale) const {
    Tensor out(DType::f32, t.shape());
    for (int64_t i = 0; i < t.elements(); ++i) out.set_double(i, static_cast<float>(t.at_double(i)) / scale);
    return out;
  }

  /// True if `v` is a product with a constant, or a dequantised value, which will become such a product.
  bool is_product(ValueId v) const {
    if (r_.uses(v) != 1 || !r_.value(v).producer.valid()) return false;
    const Node& n = r_.graph.node(r_.value(v).producer);
    if (n.op == &op_DequantizeLinear) return is_uniform(n);
    return n.op == &op_Mul && is_factor(n.inputs[1]);
  }
  bool is_factor(ValueId v) const {
    const Tensor* c = r_.constant(v);
    return c && c->dtype() == DType::f32;
  }

  /// (a + b) / scale, for two products a and b.
  ValueId divided_sum(const Node& n, float scale) {
    if (!is_product(n.inputs[0]) || !is_product(n.inputs[1])) return ValueId();
    const ValueId a = divided(n.inputs[0], scale, false), b = divided(n.inputs[1], scale, false);
    return r_.add(op_Add, n.name, {a, b});
  }

  /// v / scale without a division, if `v` is a product with a constant. `clamps`: all negative values give the same
  /// result.
  ValueId divided(ValueId v, float scale, bool clamps) {
    if (r_.uses(v) != 1 || !r_.value(v).producer.valid()) return ValueId();
    const Node n = copy_of(r_.graph.node(r_.value(v).producer));
    if (n.op == &op_Relu) {
      const ValueId x = divided(n.inputs[0], scale, clamps);
      return !x.valid() || clamps ? x : r_.add(op_Relu, n.name, {x});
    }
    if (n.op == &op_DequantizeLinear && is_uniform(n)) {
      std::vector<ValueId> inputs = n.inputs;
      inputs[1] = r_.add_constant(r_.value(n.inputs[1]).name, quotient(*r_.constant(n.inputs[1]), scale));
      return r_.add(op_DequantizeLinear, n.name, inputs, n.attributes);
    }
    if (n.op == &op_Add && !r_.constant(n.inputs[1])) return divided_sum(n, scale);
    if ((n.op != &op_Mul && n.op != &op_Add) || !is_factor(n.inputs[1])) return ValueId();
    const ValueId x = n.op == &op_Mul ? n.inputs[0] : divided(n.inputs[0], scale, false);
    if (!x.valid()) return ValueId();
    return r_.add(*n.op, n.name,
                  {x, r_.add_constant(r_.value(n.inputs[1]).name, quotient(*r_.constant(n.inputs[1]), scale))});
  }

  Rewriter& r_;
};

}  // namespace

bool merge_quantization(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    QuantizationMerger merging(r);
    bool changed = false;
    for (NodeId id : r.graph.order()) {
      if (r.graph.node(id).erased) continue;
      if (r.graph.node(id).op == &op_QuantizeLinear) changed |= merging.quantize(id);
      if (r.graph.node(id).erased) continue;
      if (r.graph.node(id).op == &op_DequantizeLinear) changed |= merging.drop_axis(id);
    }
    return changed;
  });
}

}  // namespace gcg
