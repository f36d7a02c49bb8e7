#include "compiler/passes/fold_scale_shift.h"

#include <cmath>

#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

bool are_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.elements(); ++i)
    if (!std::isfinite(t.at_double(i))) return false;
  return true;
}

/// The elements of a constant that depends on only one dimension of a tensor of this rank: `channels` numbers. Nullopt
/// if it depends on others, if broadcasting it would make the tensor larger, or if an element is not finite: a sum of
/// products with infinite weights differs from an infinity times the sum.
std::optional<std::vector<double>> per_channel(const Tensor* c, size_t rank, size_t dimension, int64_t channels) {
  if (!c || c->shape().size() > rank || !are_finite(*c)) return std::nullopt;
  const size_t skipped = rank - c->shape().size();
  for (size_t d = 0; d < c->shape().size(); ++d)
    if (c->shape()[d] != 1 && (d + skipped != dimension || c->shape()[d] != channels)) return std::nullopt;
  std::vector<double> out;
  for (int64_t i = 0; i < channels; ++i) out.push_back(c->at_double(c->elements() == 1 ? 0 : i));
  return out;
}

/// Multiplies each weight by its channel's factor. Element i belongs to channel (i / inner) % factors.size().
Tensor scaled(const Tensor& weights, const std::vector<double>& factors, int64_t inner) {
  Tensor out(weights.dtype(), weights.shape());
  const auto channels = static_cast<int64_t>(factors.size());
  for (int64_t i = 0; i < weights.elements(); ++i)
    out.set_double(i, weights.at_double(i) * factors[static_cast<size_t>(i / inner % channels)]);
  return out;
}

/// Weights that only this node reads. Other readers would need the unscaled weights.
const Tensor* own_constant(const Rewriter& r, ValueId v) {
  return r.constant(v) && r.uses(v) == 1 ? r.constant(v) : nullptr;
}

/// The node's output, if the one at `id` is its only reader.
const Node* sole_producer(const Rewriter& r, ValueId x, const OpDef& op) {
  return r.uses(x) == 1 ? r.producer(x, op) : nullptr;
}

/// Moves a factor or an offset after Conv(x, w[M, ...], b[M]) into w and b.
bool fold_into_conv(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Node* conv = sole_producer(r, n.inputs[0], op_Conv);
  if (!conv || !is_float(r.value(n.outputs[0]).dtype)) return false;
  const bool has_bias = conv->inputs.size() > 2 && conv->inputs[2].valid();
  const Tensor *weights = own_constant(r, conv->inputs[1]), *bias = has_bias ? r.constant(conv->inputs[2]) : nullptr;
  if (!weights || (has_bias && !bias)) return false;
  const int64_t channels = weights->shape()[0];
  const auto numbers = per_channel(r.constant(n.inputs[1]), r.shape(n.inputs[0]).size(), 1, channels);
  if (!numbers) return false;
  const bool scale = n.op == &op_Mul;
  std::vector<ValueId> inputs = {conv->inputs[0], conv->inputs[1]};
  if (scale) {
    Tensor product = scaled(*weights, *numbers, weights->elements() / channels);
    if (!are_finite(product)) return false;
    inputs[1] = r.add_constant(r.value(conv->inputs[1]).name, std::move(product));
  }
  if (bias || !scale) {
    Tensor b(weights->dtype(), {channels});
    for (int64_t c = 0; c < channels; ++c) {
      const double old = bias ? bias->at_double(c) : 0, number = (*numbers)[static_cast<size_t>(c)];
      b.set_double(c, scale ? old * number : old + number);
    }
    inputs.push_back(r.add_constant(has_bias ? r.value(conv->inputs[2]).name : conv->name + ".bias", std::move(b)));
  }
  return r.replace(n.outputs[0], r.add(op_Conv, conv->name, std::move(inputs), conv->attributes));
}

/// Moves a factor after MatMul(x, w[K, N]) into w.
bool fold_into_matmul(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Node* product = sole_producer(r, n.inputs[0], op_MatMul);
  if (n.op != &op_Mul || !product || !is_float(r.value(n.outputs[0]).dtype)) return false;
  const Tensor* weights = own_constant(r, product->inputs[1]);
  const size_t rank = r.shape(n.inputs[0]).size();
  if (!weights || weights->rank() != 2 || rank == 0) return false;
  const auto numbers = per_channel(r.constant(n.inputs[1]), rank, rank - 1, weights->shape()[1]);
  if (!numbers) return false;
  Tensor factors = scaled(*weights, *numbers, 1);
  if (!are_finite(factors)) return false;
  const ValueId w = r.add_constant(r.value(product->inputs[1]).name, std::move(factors));
  return r.replace(n.outputs[0], r.add(op_MatMul, product->name, {product->inputs[0], w}));
}

/// The dimension along which a normalisation has a factor and an offset per element; nullopt if there is none.
std::optional<size_t> weighted_dimension(const Rewriter& r, const Node& norm) {
  const size_t rank = r.shape(norm.inputs[0]).size();
  if (norm.op == &op_GroupNormalization || norm.op == &op_InstanceNormalization) return size_t{1};
  const bool rows = norm.op == &op_LayerNormalization && rank > 0 && r.shape(norm.inputs[1]).size() == 1;
  return rows ? std::optional(rank - 1) : std::nullopt;
}

/// Moves a per-channel factor or offset after a normalisation into its weights, which become per-channel, too.
bool fold_into_norm(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const ValueId x = n.inputs[0];
  if (r.uses(x) != 1 || !r.value(x).producer.valid() || r.value(x).output_index != 0) return false;
  const Node& norm = r.graph.node(r.value(x).producer);
  const auto dimension =
      norm.op->kind == OpKind::reduction && norm.inputs.size() >= 2 ? weighted_dimension(r, norm) : std::nullopt;
  const Tensor* scale = dimension ? r.constant(norm.inputs[1]) : nullptr;
  const bool has_bias = scale && norm.inputs.size() > 2 && norm.inputs[2].valid();
  const Tensor* bias = has_bias ? r.constant(norm.inputs[2]) : nullptr;
  if (!scale || (has_bias && !bias) || !is_float(r.value(n.outputs[0]).dtype)) return false;
  const Dim& extent = r.shape(x)[*dimension];
  if (!extent.is_constant() || extent.constant() < 1 ||
      extent.constant() % std::max<int64_t>(1, scale->elements()) != 0)
    return false;
  const int64_t channels = extent.constant(), each = channels / scale->elements();
  const auto numbers = per_channel(r.constant(n.inputs[1]), r.shape(x).size(), *dimension, channels);
  if (!numbers) return false;
  Tensor factors(scale->dtype(), {channels}), offsets(scale->dtype(), {channels});
  for (int64_t c = 0; c < channels; ++c) {
    const double number = (*numbers)[static_cast<size_t>(c)], shift = bias ? bias->at_double(c / each) : 0;
    const bool factor = n.op == &op_Mul;
    factors.set_double(c, scale->at_double(c / each) * (factor ? number : 1));
    offsets.set_double(c, factor ? shift * number : shift + number);
  }
  auto attributes = norm.attributes;
  attributes.erase("scale_per_group");
  const std::string scale_name = r.value(norm.inputs[1]).name,
                    bias_name = has_bias ? r.value(norm.inputs[2]).name : norm.name + ".bias";
  std::vector<ValueId> inputs = {norm.inputs[0], r.add_constant(scale_name, std::move(factors))};
  inputs.push_back(r.add_constant(bias_name, std::move(offsets)));
  return r.replace(n.outputs[0], r.add(*norm.op, norm.name, std::move(inputs), std::move(attributes)));
}

bool fold(Rewriter& r) {
  bool changed = false;
  for (NodeId id : r.graph.order()) {
    const Node& n = r.graph.node(id);
    if (n.erased || (n.op != &op_Mul && n.op != &op_Add)) continue;
    const ValueId x = n.inputs[0];
    if (!fold_into_conv(r, id) && !fold_into_matmul(r, id) && !fold_into_norm(r, id)) continue;
    r.erase_if_dead(id);
    if (r.value(x).producer.valid()) r.erase_if_dead(r.value(x).producer);
    changed = true;
  }
  return changed;
}

}  // namespace

bool fold_scale_shift(Graph& graph) { return edit_all(graph, fold); }

}  // namespace gcg
