// com.microsoft: operators on quantised tensors (dequantise, compute, quantise), and products with quantised factors.
#include "compiler/ops/microsoft.h"
#include "compiler/ops/quantize.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;
using Attributes = std::map<std::string, Attribute>;

Results with_zero(Expansion& x, ValueId of, size_t scale) {
  Results operands = {of, x.input(scale)};
  if (x.has_input(scale + 1)) operands.push_back(x.input(scale + 1));
  return operands;
}
/// Input i as floats; its scale and zero point are the next inputs.
ValueId dequantized(Expansion& x, size_t i) { return x.node("DequantizeLinear", with_zero(x, x.input(i), i + 1)); }
/// y as integers. `scale` and the next input are its scale and zero point. Without a zero point the type is that of
/// `like`.
ValueId quantized(Expansion& x, ValueId y, size_t scale, DType like) {
  return x.node("QuantizeLinear", with_zero(x, y, scale),
                {{"output_dtype", static_cast<int64_t>(dtype_to_onnx(like))}});
}

template <size_t kOperands>
Results expand_arithmetic(Expansion& x, const char* name, const Attributes& attributes = {}) {
  Results operands;
  for (size_t i = 0; i < kOperands; ++i) operands.push_back(dequantized(x, 3 * i));
  return {quantized(x, x.node(name, operands, attributes), 3 * kOperands, x.dtype(0))};
}

Results expand_add(Expansion& x) { return expand_arithmetic<2>(x, "Add"); }
Results expand_mul(Expansion& x) { return expand_arithmetic<2>(x, "Mul"); }
Results expand_sigmoid(Expansion& x) { return expand_arithmetic<1>(x, "Sigmoid"); }
Results expand_leaky_relu(Expansion& x) { return expand_arithmetic<1>(x, "LeakyRelu", x.attributes({"alpha"})); }

/// Before opset 13 of ai.onnx, softmax flattens its operand to a matrix. The attribute `opset` selects the definition.
Results expand_softmax(Expansion& x) {
  const int64_t rank = x.rank(0), axis = x.node().int_attribute("axis", -1);
  if (x.node().int_attribute("opset", 13) >= 13) return expand_arithmetic<1>(x, "Softmax", {{"axis", axis}});
  const ValueId flat = x.node("Flatten", {dequantized(x, 0)}, {{"axis", axis < 0 ? axis + rank : axis}});
  const ValueId y = x.node("Softmax", {flat}, {{"axis", int64_t{-1}}});
  return {quantized(x, x.node("Reshape", {y, x.node("Shape", {x.input(0)})}), 3, x.dtype(0))};
}

Results expand_where(Expansion& x) {
  const ValueId y = x.node("Where", {x.input(0), dequantized(x, 1), dequantized(x, 4)});
  return {quantized(x, y, 7, x.dtype(1))};
}

Results expand_concat(Expansion& x) {
  if (x.input_count() % 3 != 2)
    x.fail(concat("it has ", x.input_count(), " inputs; it takes 2 and 3 for each operand"));
  Results parts;
  for (size_t i = 2; i < x.input_count(); i += 3) parts.push_back(dequantized(x, i));
  return {quantized(x, x.concat(parts, x.node().int_attribute("axis", 1)), 0, x.dtype(2))};
}

// ---- pools; some are channels-last

Results pooled(Expansion& x, const char* name, const Attributes& attributes) {
  const bool last = x.node().int_attribute("channels_last", 0) != 0;
  std::vector<int64_t> in = {0, x.rank(0) - 1}, out = {0};
  for (int64_t d = 1; d < x.rank(0); ++d) {
    if (d + 1 < x.rank(0)) in.push_back(d);
    if (d > 1) out.push_back(d);
  }
  out.push_back(1);
  const ValueId image = dequantized(x, 0), y = x.node(name, {last ? x.transpose(image, in) : image}, attributes);
  return {quantized(x, last ? x.transpose(y, out) : y, 3, x.dtype(0))};
}
Results expand_global_average_pool(Expansion& x) { return pooled(x, "GlobalAveragePool", {}); }
Results expand_average_pool(Expansion& x) {
  return pooled(x, "AveragePool",
                x.attributes({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
}

// ---- products

Results expand_gemm(Expansion& x) {
  const Attributes turned = x.attributes({"transA", "transB"});
  const bool rows_of_b = x.node().int_attribute("transB", 0) != 0;
  Results operands = {dequantized(x, 0),
                      x.node("DequantizeLinear", with_zero(x, x.input(3), 4), {{"axis", int64_t{rows_of_b ? 0 : 1}}})};
  Attributes gemm = turned;
  const double alpha = x.node().float_attribute("alpha", 1);
  gemm["alpha"] = alpha;
  if (x.has_input(6)) {  // the bias is i32, in units of alpha times both scales
    const ValueId unit = x.multiply(x.multiply(x.input(1), x.input(4)), x.scalar(DType::f32, alpha));
    operands.push_back(x.multiply(x.cast(x.input(6), DType::f32), unit));
  }
  const ValueId y = x.node("Gemm", operands, gemm);
  return {x.has_input(7) ? quantized(x, y, 7, x.dtype(0)) : y};
}

ValueId with_bias(Expansion& x, ValueId product, size_t bias) {
  return x.has_input(bias) ? x.add(product, x.input(bias)) : product;
}

Results expand_matmul_integer_to_float(Expansion& x) {
  const QuantizedFactor a = {x.input(0), x.input(2), x.input(4)}, b = {x.input(1), x.input(3), x.input(5)};
  return {with_bias(x, scaled_product(x, a, b), 6)};
}

Results expand_dynamic_quantize_matmul(Expansion& x) {
  const QuantizedFactor b = {x.input(1), x.input(2), x.input(3)};
  return {with_bias(x, scaled_product(x, dynamically_quantized(x, x.input(0)), b), 4)};
}

Results expand_quantize(Expansion& x) {
  Results operands = {x.input(0), x.input(1)};
  if (x.has_input(2)) operands.push_back(x.input(2));
  return {x.node(x.node().op->name, operands, x.attributes({"axis", "block_size"}))};
}

}  // namespace

constinit const ExpandedOp op_microsoft_QLinearAdd = microsoft(
    "QLinearAdd", 7, 8,
    {Types::bytes, Types::floats, Types::bytes, Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes},
    expand_add);
constinit const ExpandedOp op_microsoft_QLinearMul = microsoft(
    "QLinearMul", 7, 8,
    {Types::bytes, Types::floats, Types::bytes, Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes},
    expand_mul);
constinit const ExpandedOp op_microsoft_QLinearSigmoid = microsoft(
    "QLinearSigmoid", 4, 5, {Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes}, expand_sigmoid);
constinit const ExpandedOp op_microsoft_QLinearLeakyRelu =
    microsoft("QLinearLeakyRelu", 4, 5, {Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes},
              expand_leaky_relu);
constinit const ExpandedOp op_microsoft_QLinearSoftmax = microsoft(
    "QLinearSoftmax", 4, 5, {Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes}, expand_softmax);
constinit const ExpandedOp op_microsoft_QLinearWhere =
    giving({Types::bytes}, microsoft("QLinearWhere", 9, 9,
                                     {Types::booleans, Types::bytes, Types::floats, Types::bytes, Types::bytes,
                                      Types::floats, Types::bytes, Types::floats, Types::bytes},
                                     expand_where));
constinit const ExpandedOp op_microsoft_QLinearConcat =
    giving({Types::bytes}, microsoft("QLinearConcat", 5, -1, {Types::floats, Types::bytes, Types::any}, expand_concat));
constinit const ExpandedOp op_microsoft_QLinearAveragePool =
    microsoft("QLinearAveragePool", 4, 5, {Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes},
              expand_average_pool);
constinit const ExpandedOp op_microsoft_QLinearGlobalAveragePool =
    microsoft("QLinearGlobalAveragePool", 5, 5,
              {Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes}, expand_global_average_pool);
constinit const ExpandedOp op_microsoft_QGemm =
    giving({Types::numbers}, microsoft("QGemm", 6, 9,
                                       {Types::bytes, Types::floats, Types::bytes, Types::bytes, Types::floats,
                                        Types::bytes, Types::integers, Types::floats, Types::bytes},
                                       expand_gemm));
constinit const ExpandedOp op_microsoft_MatMulIntegerToFloat = giving(
    {Types::floats},
    microsoft("MatMulIntegerToFloat", 4, 7,
              {Types::bytes, Types::bytes, Types::floats, Types::floats, Types::bytes, Types::bytes, Types::floats},
              expand_matmul_integer_to_float));
constinit const ExpandedOp op_microsoft_DynamicQuantizeMatMul =
    microsoft("DynamicQuantizeMatMul", 3, 5, {Types::floats, Types::bytes, Types::floats, Types::bytes, Types::floats},
              expand_dynamic_quantize_matmul);
constinit const ExpandedOp op_microsoft_QuantizeLinear = giving(
    {Types::rounded},
    microsoft("QuantizeLinear", 2, 3, {Types::to_quantize, Types::to_quantize, Types::rounded}, expand_quantize));
constinit const ExpandedOp op_microsoft_DequantizeLinear =
    giving({Types::floats},
           microsoft("DequantizeLinear", 2, 3, {Types::quantized, Types::floats, Types::quantized}, expand_quantize));

}  // namespace gcg
