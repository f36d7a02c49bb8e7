// com.microsoft: GELUs, products with fused operators, and convolutions of channels-last images.
#include <algorithm>

#include "compiler/ops/microsoft.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;
using Results = std::vector<ValueId>;

// ---- GELUs

Results gelu(Expansion& x, const char* approximate, ValueId of) {
  return {x.node("Gelu", {x.has_input(1) ? x.add(of, x.input(1)) : of}, {{"approximate", std::string(approximate)}})};
}
Results expand_gelu(Expansion& x) { return gelu(x, "none", x.input(0)); }
Results expand_fast_gelu(Expansion& x) { return gelu(x, "tanh", x.input(0)); }
Results expand_quick_gelu(Expansion& x) {
  return {x.node("Swish", {x.input(0)}, {{"alpha", x.node().float_attribute("alpha", 1.702)}})};
}

// ---- activations after a product

/// The activation of FusedConv and FusedGemm; `parameter(i, otherwise)` gives its i-th parameter.
template <class Parameter>
ValueId activated(Expansion& x, ValueId y, Parameter parameter) {
  const std::string kind = x.node().string_attribute("activation", "");
  if (kind.empty()) return y;
  if (kind == "Relu" || kind == "Sigmoid" || kind == "Tanh" || kind == "HardSwish" || kind == "Softplus" ||
      kind == "Softsign")
    return x.node(kind.c_str(), {y});
  const auto with = [&](const char* first, double a, const char* second = nullptr, double b = 0) {
    std::map<std::string, Attribute> attributes = {{first, parameter(0, a)}};
    if (second) attributes[second] = parameter(1, b);
    return x.node(kind.c_str(), {y}, attributes);
  };
  if (kind == "LeakyRelu") return with("alpha", 0.01);
  if (kind == "Elu") return with("alpha", 1);
  if (kind == "ThresholdedRelu") return with("alpha", 1);
  if (kind == "HardSigmoid") return with("alpha", 0.2, "beta", 0.5);
  if (kind == "Clip")
    return x.node("Clip", {y, x.node("CastLike", {x.scalar(DType::f32, parameter(0, 0)), y}),
                           x.node("CastLike", {x.scalar(DType::f32, parameter(1, 0)), y})});
  x.fail(concat("activation '", kind, "' is not supported"));
}

// ---- FusedMatMul: alpha * A * B, each transposed on request

/// A factor of FusedMatMul. Attributes may transpose its matrices, or move its batch dimensions after the rows.
ValueId factor(Expansion& x, size_t i, const char* rows, const char* batches) {
  const auto rank = x.rank(i);
  if (rank < 2) return x.input(i);
  Ints order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  if (x.node().int_attribute(batches, 0) != 0) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (x.node().int_attribute(rows, 0) != 0) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return std::is_sorted(order.begin(), order.end()) ? x.input(i) : x.transpose(x.input(i), order);
}

Results expand_fused_matmul(Expansion& x) {
  const ValueId a = factor(x, 0, "transA", "transBatchA"), b = factor(x, 1, "transB", "transBatchB");
  const double alpha = x.node().float_attribute("alpha", 1);
  const ValueId y = x.node("MatMul", {a, b});
  return {alpha == 1 ? y : x.multiply(y, x.scalar(x.dtype(0), alpha))};
}

Results expand_fused_gemm(Expansion& x) {
  std::vector<ValueId> operands = {x.input(0), x.input(1)};
  if (x.has_input(2)) operands.push_back(x.input(2));
  const ValueId y = x.node("Gemm", operands, x.attributes({"alpha", "beta", "transA", "transB"}));
  const char* const names[] = {"activation_alpha", "activation_beta"};
  return {activated(x, y, [&](size_t i, double otherwise) { return x.node().float_attribute(names[i], otherwise); })};
}

// ---- FusedConv: activation(conv(X, W) + B + Z); the Nhwc operators are channels-last

std::vector<int64_t> channels_order(int64_t rank, bool last) {
  Ints order = {0};
  if (!last) order.push_back(rank - 1);
  for (int64_t d = last ? 2 : 1; d < (last ? rank : rank - 1); ++d) order.push_back(d);
  if (last) order.push_back(1);
  return order;
}
ValueId channels_moved(Expansion& x, ValueId v, int64_t rank, bool last) {
  return rank < 3 ? v : x.transpose(v, channels_order(rank, last));
}

ValueId conv_and_activation(Expansion& x, ValueId image, ValueId sum) {
  std::vector<ValueId> operands = {image, x.input(1)};
  if (x.has_input(2)) operands.push_back(x.input(2));
  ValueId y =
      x.node("Conv", operands, x.attributes({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  if (sum.valid()) y = x.add(y, sum);
  const std::vector<double> parameters = x.node().floats_attribute("activation_params");
  return activated(x, y, [&](size_t i, double otherwise) { return i < parameters.size() ? parameters[i] : otherwise; });
}

Results expand_fused_conv(Expansion& x) { return {conv_and_activation(x, x.input(0), x.input(3))}; }

Results expand_nhwc_conv(Expansion& x) {
  const int64_t rank = x.rank(0);
  const ValueId sum = x.has_input(3) ? channels_moved(x, x.input(3), rank, false) : ValueId();
  return {channels_moved(x, conv_and_activation(x, channels_moved(x, x.input(0), rank, false), sum), rank, true)};
}

Results expand_nhwc_max_pool(Expansion& x) {
  const int64_t rank = x.rank(0);
  const auto attributes = x.attributes({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
  return {channels_moved(x, x.node("MaxPool", {channels_moved(x, x.input(0), rank, false)}, attributes), rank, true)};
}

}  // namespace

constinit const ExpandedOp op_microsoft_Gelu = microsoft("Gelu", 1, 1, {Types::floats}, expand_gelu);
constinit const ExpandedOp op_microsoft_BiasGelu =
    microsoft("BiasGelu", 2, 2, {Types::floats, Types::as_first}, expand_gelu);
constinit const ExpandedOp op_microsoft_FastGelu =
    microsoft("FastGelu", 1, 2, {Types::floats, Types::as_first}, expand_fast_gelu);
constinit const ExpandedOp op_microsoft_QuickGelu = microsoft("QuickGelu", 1, 1, {Types::floats}, expand_quick_gelu);
constinit const ExpandedOp op_microsoft_FusedMatMul =
    microsoft("FusedMatMul", 2, 2, {Types::floats, Types::as_first}, expand_fused_matmul);
constinit const ExpandedOp op_microsoft_FusedGemm =
    microsoft("FusedGemm", 2, 3, {Types::floats, Types::as_first}, expand_fused_gemm);
constinit const ExpandedOp op_microsoft_FusedConv =
    microsoft("FusedConv", 2, 4, {Types::floats, Types::as_first}, expand_fused_conv);
constinit const ExpandedOp op_microsoft_NhwcConv =
    microsoft("NhwcConv", 2, 3, {Types::floats, Types::as_first}, expand_nhwc_conv);
constinit const ExpandedOp op_microsoft_NhwcFusedConv =
    microsoft("NhwcFusedConv", 2, 4, {Types::floats, Types::as_first}, expand_nhwc_conv);
constinit const ExpandedOp op_microsoft_NhwcMaxPool =
    microsoft("NhwcMaxPool", 1, 1, {Types::numbers}, expand_nhwc_max_pool);

}  // namespace gcg
