#include "compiler/passes/integer_contractions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/node_copy.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr int64_t kMostProduct = 255 * 255, kMostSum = std::numeric_limits<int32_t>::max();

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

/// DequantizeLinear(data, scale, zero) with constant parameters.
struct Dequantized {
  ValueId data, zero;  // zero: may be omitted
  const Tensor* scale = nullptr;
  int64_t axis = 0;  // the axis of the scales, if there are several
};

class Contraction {
 public:
  Contraction(Rewriter& r, const Node& n) : r_(r), n_(copy_of(n)), conv_(n.op == &op_Conv) {}

  bool rewrite() {
    const auto x = dequantized(n_.inputs[0]);
    if (!x || x->scale->elements() != 1 || !is_byte(r_.value(x->data).dtype) || r_.constant(x->data) || !is_simple())
      return false;
    const auto w = weights();
    if (!w) return false;
    Tensor scale(DType::f32, w->scale->elements() == 1 ? std::vector<int64_t>{} : along_channels());
    for (int64_t i = 0; i < scale.elements(); ++i)
      scale.set_double(i, static_cast<float>(x->scale->at_double(0)) * static_cast<float>(w->scale->at_double(i)));
    std::vector<ValueId> operands = {x->data, w->data, x->zero, w->zero};
    while (!operands.back().valid()) operands.pop_back();
    ValueId y = r_.add(conv_ ? op_ConvInteger : op_MatMulInteger, n_.name, operands, conv_ ? n_.attributes : none_);
    const ValueId bias = n_.inputs.size() > 2 ? n_.inputs[2] : ValueId();
    const ValueId sums = bias.valid() ? bias_of_sums(bias, scale) : ValueId();
    if (sums.valid()) y = r_.add(op_Add, n_.name, {y, sums});
    y = r_.add(op_Cast, n_.name, {y}, {{"to", int64_t{dtype_to_onnx(DType::f32)}}});
    y = r_.add(op_Mul, n_.name, {y, r_.add_constant(n_.name + ".scale", std::move(scale))});
    if (bias.valid() && !sums.valid()) y = r_.add(op_Add, n_.name, {y, conv_ ? over_positions(bias) : bias});
    return r_.replace(n_.outputs[0], y);
  }

 private:
  /// True if the node computes nothing but the contraction and its bias.
  bool is_simple() const {
    if (r_.value(n_.outputs[0]).dtype != DType::f32) return false;
    if (conv_) return true;
    if (r_.shape(n_.inputs[0]).size() < 2) return false;
    return n_.int_attribute("transA", 0) == 0 && n_.float_attribute("alpha", 1) == 1 &&
           n_.float_attribute("beta", 1) == 1;
  }

  std::optional<Dequantized> dequantized(ValueId v) const {
    const Node* n = r_.producer(v, op_DequantizeLinear);
    if (!n || n->int_attribute("block_size", 0) != 0) return {};
    Dequantized d{n->inputs[0], n->inputs.size() > 2 ? n->inputs[2] : ValueId(), r_.constant(n->inputs[1])};
    if (!d.scale || d.scale->dtype() != DType::f32 || (d.zero.valid() && !r_.constant(d.zero))) return {};
    d.axis = n->int_attribute("axis", 1);
    if (d.axis < 0) d.axis += static_cast<int64_t>(r_.shape(d.data).size());
    return d;
  }

  /// The right operand in the integer operator's form: [K, N], or [CO, CI, kernel...].
  std::optional<Dequantized> weights() {
    ValueId v = n_.inputs[1];
    bool transposed = n_.int_attribute("transB", 0) != 0;
    const Node* swap = r_.producer(v, op_Transpose);
    if (swap && !conv_ && r_.shape(v).size() == 2 &&
        swap->ints_attribute("perm", {1, 0}) == std::vector<int64_t>{1, 0}) {
      transposed = !transposed;
      v = swap->inputs[0];
    }
    auto w = dequantized(v);
    if (!w || !is_byte(r_.value(w->data).dtype) || !r_.constant(w->data)) return {};
    const int64_t rank = r_.constant(w->data)->rank();
    if (!conv_ && rank != 2) return {};
    if (w->scale->elements() != 1 && w->axis != (conv_ || transposed ? 0 : 1)) return {};
    if (w->zero.valid() && r_.constant(w->zero)->elements() == 1) w->zero = as_scalar(w->zero);
    channels_ = r_.constant(w->data)->shape()[conv_ || transposed ? 0 : 1];
    depth_ = r_.constant(w->data)->elements() / std::max<int64_t>(channels_, 1);
    if (depth_ * kMostProduct > kMostSum) return {};
    if (transposed) w->data = r_.add(op_Transpose, n_.name, {w->data}, {{"perm", std::vector<int64_t>{1, 0}}});
    return w;
  }

  ValueId as_scalar(ValueId v) {
    return r_.constant(v)->rank() == 0 ? v : r_.add_constant(r_.value(v).name, r_.constant(v)->reshaped({}));
  }

  /// The shape [N], or [CO, 1, ...] with one dimension less than the result.
  std::vector<int64_t> along_channels() const {
    std::vector<int64_t> shape = {channels_};
    if (conv_) shape.resize(r_.shape(n_.outputs[0]).size() - 1, 1);
    return shape;
  }

  ValueId over_positions(ValueId bias) {
    std::vector<int64_t> axes;
    for (size_t d = 1; d + 1 < r_.shape(n_.outputs[0]).size(); ++d) axes.push_back(static_cast<int64_t>(d));
    return r_.add(op_Unsqueeze, n_.name, {bias, r_.add_constant(n_.name + ".axes", Tensor::vector_i64(axes))});
  }

  /// The bias in units of the sums, if it is stored in these units.
  ValueId bias_of_sums(ValueId bias, const Tensor& scale) {
    const auto b = dequantized(bias);
    if (!b || (b->zero.valid() && !is_all(r_.constant(b->zero), 0))) return ValueId();
    const Tensor* data = r_.constant(b->data);
    if (data)
      for (int64_t i = 0; i < data->elements(); ++i)
        if (std::abs(data->at_int(i)) > kMostSum - depth_ * kMostProduct) return ValueId();
    if (!data || data->dtype() != DType::i32 || data->rank() != 1 || data->elements() != channels_) return ValueId();
    for (int64_t i = 0; i < channels_; ++i) {
      const double unit = b->scale->at_double(b->scale->elements() == 1 ? 0 : i),
                   expected_unit = scale.at_double(scale.elements() == 1 ? 0 : i);
      if (!(std::abs(unit - expected_unit) <= 1e-6 * expected_unit)) return ValueId();
    }
    return r_.add_constant(r_.value(b->data).name, data->reshaped(along_channels()));
  }

  Rewriter& r_;
  const Node n_;
  const bool conv_;
  int64_t channels_ = 0, depth_ = 0;  // channels of the weights; depth: number of products in a sum
  const std::map<std::string, Attribute> none_;
};

}  // namespace

bool integer_contractions(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (NodeId id : r.graph.order()) {
      const Node& n = r.graph.node(id);
      const bool contracts = n.op == &op_MatMul || n.op == &op_Gemm || n.op == &op_Conv;
      if (!contracts || !r.has_shape(n.inputs[0]) || !r.has_shape(n.outputs[0])) continue;
      if (!Contraction(r, n).rewrite()) continue;
      r.erase_if_dead(id);
      any = true;
    }
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
