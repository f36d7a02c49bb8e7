#include "compiler/passes/lower_integers.h"

#include <algorithm>
#include <optional>

#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/packing.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/passes/node_copy.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/unsigned_bytes.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

constexpr int64_t kMostExact = (1 << 24) / (255 * 255);  // the largest number of 8-bit products that f32 sums exactly

constexpr int64_t kFewestChannels = 3;  // the fewest channels of a convolution that is computed in bytes

/// A constant right operand minus its zero point, within [-255, 255]. If it does not fit bytes, the operand is 2 *
/// parts[0] + parts[1]. parts[0] has the halves, rounded down, and parts[1] the lowest bits.
struct Weights {
  std::vector<Tensor> parts;  // i8
  std::vector<int64_t> sums;  // per output channel
};

/// `channels`: returns the output channel of an element.
Weights centred(const Tensor& w, const Tensor* zero, int64_t channels,
                const std::function<int64_t(int64_t)>& channel_of) {
  Weights out;
  out.sums.resize(static_cast<size_t>(channels));
  Tensor whole(DType::i8, w.shape()), half(DType::i8, w.shape()), lowest(DType::i8, w.shape());
  bool fits = true;
  for (int64_t i = 0; i < w.elements(); ++i) {
    const int64_t channel = channel_of(i);
    const int64_t value = w.at_int(i) - (zero ? zero->at_int(zero->elements() == 1 ? 0 : channel) : 0);
    GCG_CHECK(value >= -255 && value <= 255, "a weight differs by ", value, " from its zero point");
    whole.set_int(i, std::clamp<int64_t>(value, -128, 127));
    half.set_int(i, value >> 1);
    lowest.set_int(i, value & 1);
    fits = fits && value >= -128 && value <= 127;
    out.sums[static_cast<size_t>(channel)] += value;
  }
  if (fits)
    out.parts.push_back(std::move(whole));
  else
    out.parts = {std::move(half), std::move(lowest)};
  return out;
}

class Lowering {
 public:
  Lowering(Rewriter& r, bool multiplies_integers) : r_(r), bytes_(r), multiplies_integers_(multiplies_integers) {}

  bool matmul(NodeId id) {
    const Node n = of_matrices(id);
    id = r_.value(n.outputs[0]).producer;
    const Tensor* b = r_.constant(n.inputs[1]);
    const bool constant = b && b->rank() == 2 && is_constant_or_none(n, 3);
    if (!multiplies_integers_ || !constant) return float_matmul(n);
    const int64_t k = b->shape()[0], columns = b->shape()[1];
    const Weights w = centred(*b, constant_input(n, 3), columns, [&](int64_t i) { return i % columns; });
    const auto [a, zero] = bytes_.operand(n, 0);
    const ValueId padded = in_vnni_groups(a, k, n.name);
    const ValueId sum = sum_of_parts(n, w, [&](ValueId matrix) {
      const ValueId packed = r_.add(op_gart_PackMatMul, n.name, {matrix}, {{"columns", kPanelColumns}});
      return r_.add(op_gart_PackedMatMul, n.name, {padded, packed},
                    {{"k", blocks_of(k, kVnniGroup) * kVnniGroup}, {"n", columns}, {"columns", kPanelColumns}});
    });
    return replace(n, id, without_zero(n, sum, zero, i32(w.sums, {columns})));
  }

  bool conv(NodeId id) {
    const Node n = copy_of(r_.graph.node(id));
    if (is_lowered(n)) return false;
    const std::optional<ConvPads> pads = conv_pads(n);
    if (!pads) return float_conv(n, id);
    const Tensor* w = r_.constant(n.inputs[1]);
    const int64_t channels = w->shape()[0], depth = w->elements() / std::max<int64_t>(channels, 1);
    const Weights weights = centred(*w, constant_input(n, 3), channels, [&](int64_t i) { return i / depth; });
    auto [x, zero] = bytes_.operand(n, 0);
    Attributes attributes = n.attributes;
    attributes.erase("auto_pad");
    attributes["pads"] = pads->both();
    if (zero.valid() && pads->any()) {
      x = padded(n, x, zero, *pads);
      attributes["pads"] = Ints(2 * pads->begin.size(), 0);
    }
    const ValueId sum = sum_of_parts(
        n, weights, [&](ValueId filters) { return r_.add(op_ConvInteger, n.name, {x, filters}, attributes); });
    Ints along(r_.shape(n.inputs[0]).size(), 1);
    along[1] = channels;
    return replace(n, id, without_zero(n, sum, zero, i32(weights.sums, along)));
  }

 private:
  struct ConvPads {
    Ints begin, end;
    Ints both() const {
      Ints all = begin;
      all.insert(all.end(), end.begin(), end.end());
      return all;
    }
    bool any() const {
      const Ints all = both();
      return std::any_of(all.begin(), all.end(), [](int64_t p) { return p != 0; });
    }
  };

  /// True for convolutions that block_channels turns into kernels.
  bool is_lowered(const Node& n) const {
    return multiplies_integers_ && !has_input(n, 2) && !has_input(n, 3) && r_.value(n.inputs[0]).dtype == DType::u8 &&
           r_.value(n.inputs[1]).dtype == DType::i8 && n.attributes.count("auto_pad") == 0 && conv_pads(n);
  }

  /// The padding of a convolution that a byte kernel computes; nullopt for others. Groups of four channels (VNNI) and
  /// pairs that are mostly empty would be as slow as floats.
  std::optional<ConvPads> conv_pads(const Node& n) const {
    const Tensor* w = r_.constant(n.inputs[1]);
    const Shape& x = r_.shape(n.inputs[0]);
    if (!multiplies_integers_ || !w || w->elements() == 0 || x.size() > 5 || !x[1].is_constant() ||
        !is_constant_or_none(n, 3))
      return {};
    const ConvPacking packing{w->shape()[1], w->shape()[0], n.int_attribute("group", 1), false, true};
    const bool depthwise = packing.inputs == 1 && packing.group_outputs() == 1;
    if (packing.by_lane() ? !depthwise : packing.inputs < kFewestChannels) return {};
    ConvPads pads;
    for (const WindowDim& d : window_of(n, x, to_shape({w->shape().begin() + 2, w->shape().end()}))) {
      if (!d.pad_begin.is_constant() || !d.pad_end.is_constant()) return {};
      pads.begin.push_back(d.pad_begin.constant());
      pads.end.push_back(d.pad_end.constant());
    }
    return pads;
  }

  ValueId padded(const Node& n, ValueId x, ValueId zero, const ConvPads& p) {
    Ints pads = {0, 0};
    pads.insert(pads.end(), p.begin.begin(), p.begin.end());
    pads.insert(pads.end(), {0, 0});
    pads.insert(pads.end(), p.end.begin(), p.end.end());
    return r_.add(op_Pad, n.name, {x, r_.add_constant(n.name + ".pads", Tensor::vector_i64(pads)), zero});
  }

  /// The product, with a row or column added to operands of one dimension. Readers of the node get the result without
  /// them.
  Node of_matrices(NodeId id) {
    Node n = copy_of(r_.graph.node(id));
    std::vector<ValueId> inputs = n.inputs;
    Ints added;  // added dimensions of the product, counted from its end
    for (const size_t i : {size_t{1}, size_t{0}}) {
      if (r_.shape(n.inputs[i]).size() != 1) continue;
      const int64_t axis = static_cast<int64_t>(i);
      const Tensor* constant = r_.constant(n.inputs[i]);
      const Ints shape = constant ? (i == 0 ? Ints{1, constant->elements()} : Ints{constant->elements(), 1}) : Ints{};
      inputs[i] = constant ? r_.add_constant(n.name, constant->reshaped(shape))
                           : r_.add(op_Unsqueeze, n.name, {inputs[i], axes(n.name, {axis})});
      added.push_back(axis - 2);
    }
    if (added.empty()) return n;
    const ValueId product = r_.add(op_MatMulInteger, n.name, inputs);
    replace(n, id, r_.add(op_Squeeze, n.name, {product, axes(n.name, added)}));
    return copy_of(r_.graph.node(r_.value(product).producer));
  }

  /// Combines the contractions by the parts of `w` into the contraction by `w`.
  template <class Contract>
  ValueId sum_of_parts(const Node& n, const Weights& w, Contract by) {
    const auto part = [&](size_t i) { return by(r_.add_constant(r_.value(n.inputs[1]).name, w.parts[i])); };
    const ValueId first = part(0);
    if (w.parts.size() == 1) return first;
    const ValueId doubled = r_.add(op_Mul, n.name, {first, i32({2}, {})});
    return r_.add(op_Add, n.name, {doubled, part(1)});
  }

  ValueId axes(const std::string& name, const Ints& axes) {
    return r_.add_constant(name + ".axes", Tensor::vector_i64(axes));
  }

  static bool has_input(const Node& n, size_t i) { return i < n.inputs.size() && n.inputs[i].valid(); }
  const Tensor* constant_input(const Node& n, size_t i) const {
    return has_input(n, i) ? r_.constant(n.inputs[i]) : nullptr;
  }
  bool is_constant_or_none(const Node& n, size_t i) const { return !has_input(n, i) || r_.constant(n.inputs[i]); }
  bool replace(const Node& n, NodeId id, ValueId by) {
    if (!r_.replace(n.outputs[0], by)) return false;
    r_.erase_if_dead(id);
    return true;
  }

  ValueId cast_to(ValueId v, DType type, const std::string& name) {
    return r_.add(op_Cast, name, {v}, {{"to", int64_t{dtype_to_onnx(type)}}});
  }

  ValueId i32(const std::vector<int64_t>& values, const Ints& shape) {
    Tensor t(DType::i32, shape);
    for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
    return r_.add_constant("sums", std::move(t));
  }

  /// The left operand with its rows padded to a multiple of four (VNNI groups); the packed matrix has zeros there.
  ValueId in_vnni_groups(ValueId a, int64_t k, const std::string& name) {
    if (k % kVnniGroup == 0) return a;
    Ints pads(2 * r_.shape(a).size(), 0);
    pads.back() = kVnniGroup - k % kVnniGroup;
    return r_.add(op_Pad, name, {a, r_.add_constant(name + ".pads", Tensor::vector_i64(pads))});
  }

  /// sum - zero * (sums of w). `zero` is the left operand's zero point: a number, or a column with one number per row.
  /// Invalid if it is 0.
  ValueId without_zero(const Node& n, ValueId sum, ValueId zero, ValueId sums) {
    if (!zero.valid()) return sum;
    ValueId factor = cast_to(zero, DType::i32, n.name);
    if (r_.shape(factor).size() == 1 && n.op == &op_MatMulInteger)
      factor = r_.add(op_Unsqueeze, n.name, {factor, axes(n.name, {1})});
    return r_.add(op_Sub, n.name, {sum, r_.add(op_Mul, n.name, {sums, factor})});
  }

  // ---- in floats

  ValueId float_operand(const Node& n, size_t i, bool along_rows, DType type = DType::f32) {
    const bool per_row = !has_input(n, i + 2) || r_.shape(n.inputs[i + 2]).size() <= 1;
    if (r_.constant(n.inputs[i]) && is_constant_or_none(n, i + 2) && per_row)
      return float_constant(n, i, along_rows, type);
    const ValueId x = cast_to(n.inputs[i], type, n.name);
    if (!has_input(n, i + 2)) return x;
    ValueId zero = cast_to(n.inputs[i + 2], type, n.name);
    if (r_.shape(zero).size() == 1 && along_rows) {
      Ints others;
      for (size_t d = 1; d < r_.shape(x).size(); ++d) others.push_back(static_cast<int64_t>(d));
      if (n.op == &op_MatMulInteger) others = {1};
      zero = r_.add(op_Unsqueeze, n.name, {zero, axes(n.name, others)});
    }
    return r_.add(op_Sub, n.name, {x, zero});
  }

  /// The same, for constants. They are folded here because their size grows by more than fold-constants accepts.
  ValueId float_constant(const Node& n, size_t i, bool along_rows, DType type) {
    const Tensor &x = *r_.constant(n.inputs[i]), *zero = constant_input(n, i + 2);
    Tensor out(type, x.shape());
    const int64_t count = zero ? zero->elements() : 1, inner = !along_rows || x.rank() == 0 ? 1
                                                               : n.op == &op_MatMulInteger
                                                                   ? x.shape().back()
                                                                   : x.elements() / std::max<int64_t>(x.shape()[0], 1);
    for (int64_t e = 0; e < x.elements(); ++e)
      out.set_double(e, static_cast<double>(x.at_int(e) - (zero ? zero->at_int(e / inner % count) : 0)));
    return r_.add_constant(r_.value(n.inputs[i]).name, std::move(out));
  }

  /// True if every reader is a Cast to f32. Then sums beyond 2^24 are rounded in any case.
  bool read_as_floats(ValueId v) const {
    if (r_.graph.is_output(v)) return false;
    for (NodeId id : r_.graph.order()) {
      const Node& n = r_.graph.node(id);
      if (std::count(n.inputs.begin(), n.inputs.end(), v) == 0) continue;
      if (n.op != &op_Cast || r_.value(n.outputs[0]).dtype != DType::f32) return false;
    }
    return true;
  }

  bool float_matmul(const Node& n) {
    const Dim& k = r_.shape(n.inputs[0]).back();
    if (!(k.is_constant() && k.constant() <= kMostExact) && !read_as_floats(n.outputs[0])) return false;
    const ValueId product = r_.add(op_MatMul, n.name, {float_operand(n, 0, true), float_operand(n, 1, false)});
    return replace(n, r_.value(n.outputs[0]).producer, cast_to(product, DType::i32, n.name));
  }

  /// Uses f64 if something reads the sums as integers and they may exceed the exact range of f32.
  bool float_conv(const Node& n, NodeId id) {
    Dim depth = 1;
    for (size_t d = 1; d < r_.shape(n.inputs[1]).size(); ++d) depth = depth * r_.shape(n.inputs[1])[d];
    const bool exact = (depth.is_constant() && depth.constant() <= kMostExact) || read_as_floats(n.outputs[0]);
    const DType type = exact ? DType::f32 : DType::f64;
    const ValueId y =
        r_.add(op_Conv, n.name, {float_operand(n, 0, true, type), float_operand(n, 1, true, type)}, n.attributes);
    return replace(n, id, cast_to(y, DType::i32, n.name));
  }

  Rewriter& r_;
  UnsignedBytes bytes_;
  bool multiplies_integers_;
};

}  // namespace

bool lower_integers(Graph& graph, const Target& target) {
  const bool multiplies_integers = traits_of(target.device).multiplies_integers;
  return edit_all(graph, [&](Rewriter& r) {
    Lowering lowering(r, multiplies_integers);
    bool changed = false;
    for (NodeId id : r.graph.order()) {
      if (r.graph.node(id).erased) continue;
      if (r.graph.node(id).op == &op_MatMulInteger)
        changed |= lowering.matmul(id);
      else if (r.graph.node(id).op == &op_ConvInteger)
        changed |= lowering.conv(id);
    }
    return changed;
  });
}

}  // namespace gcg
