// Decomposes operators into a few simpler ones.
#include <algorithm>
#include <cmath>

#include "compiler/ops/ops.h"
#include "compiler/passes/canonicalize.h"

namespace gcg {
namespace {

ValueId scalar(Rewriter& r, const std::string& name, DType dtype, double number) {
  Tensor t(dtype, {});
  t.set_double(0, number);
  return r.add_constant(name, std::move(t));
}

ValueId scaled(Rewriter& r, const std::string& name, ValueId x, double factor) {
  if (factor == 1) return x;
  const DType dtype = r.value(x).dtype;
  return r.add(op_Mul, name, {x, scalar(r, name, dtype, factor)});
}

/// y = alpha * op(a) op(b) + beta * c. A factor multiplies a constant operand, where it is folded.
bool decompose_gemm(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const std::string name = n.name;
  const ValueId y = n.outputs[0], c = n.inputs.size() > 2 ? n.inputs[2] : ValueId();
  ValueId a = n.inputs[0], b = n.inputs[1];
  const double alpha = n.float_attribute("alpha", 1), beta = n.float_attribute("beta", 1);
  const bool transpose_a = n.int_attribute("transA", 0) != 0, transpose_b = n.int_attribute("transB", 0) != 0;
  if (!is_float(r.value(y).dtype) && (alpha != 1 || beta != 1)) return false;
  const std::map<std::string, Attribute> swap = {{"perm", std::vector<int64_t>{1, 0}}};
  if (transpose_a) a = r.add(op_Transpose, name, {a}, swap);
  if (r.constant(b)) b = scaled(r, name, b, alpha);
  if (transpose_b) b = r.add(op_Transpose, name, {b}, swap);
  ValueId result = r.add(op_MatMul, name, {a, b});
  if (!r.constant(n.inputs[1])) result = scaled(r, name, result, alpha);
  if (c.valid() && beta != 0) result = r.add(op_Add, name, {result, scaled(r, name, c, beta)});
  return r.replace(y, result);
}

/// The mean over all dimensions from 2 on, kept with extent 1.
bool decompose_global_average_pool(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId x = r.graph.node(id).inputs[0], y = r.graph.node(id).outputs[0];
  std::vector<int64_t> axes;
  for (int64_t d = 2; d < static_cast<int64_t>(r.shape(x).size()); ++d) axes.push_back(d);
  if (axes.empty()) return r.replace(y, x);
  const ValueId list = r.add_constant(name, Tensor::vector_i64(axes));
  return r.replace(y, r.add(op_ReduceMean, name, {x, list}, {{"keepdims", int64_t{1}}}));
}

/// y = x * factor + (bias - mean * factor), where factor = scale / sqrt(variance + epsilon). The factors per channel
/// are computed here.
bool decompose_batch_normalization(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Tensor* parameters[4] = {};  // scale, bias, mean, variance: [C]
  for (size_t i = 0; i < 4; ++i) {
    parameters[i] = r.constant(n.inputs[i + 1]);
    if (!parameters[i]) return false;
  }
  const std::string name = n.name;
  const ValueId x = n.inputs[0], y = n.outputs[0];
  const double epsilon = n.float_attribute("epsilon", 1e-5);
  const size_t rank = r.shape(x).size();
  if (rank < 2) return false;
  std::vector<int64_t> shape(rank - 1, 1);  // [C, 1, ...]
  shape[0] = parameters[0]->elements();
  Tensor factor(r.value(x).dtype, shape), offset(r.value(x).dtype, shape);
  for (int64_t c = 0; c < shape[0]; ++c) {
    const double f = parameters[0]->at_double(c) / std::sqrt(parameters[3]->at_double(c) + epsilon);
    factor.set_double(c, f);
    offset.set_double(c, parameters[1]->at_double(c) - parameters[2]->at_double(c) * f);
  }
  const ValueId product = r.add(op_Mul, name, {x, r.add_constant(name + ".scale", std::move(factor))});
  return r.replace(y, r.add(op_Add, name, {product, r.add_constant(name + ".shift", std::move(offset))}));
}

/// A fold over very many inputs becomes folds over groups of them, because the number of operands of a kernel is
/// limited.
bool split_fold(Rewriter& r, NodeId id) {
  constexpr size_t kMostInputs = 32;
  const Node& n = r.graph.node(id);
  if (n.inputs.size() <= kMostInputs) return false;
  const bool mean = n.op == &op_Mean;
  const OpDef& fold = mean ? op_Sum : *n.op;
  const std::string name = n.name;
  const ValueId y = n.outputs[0];
  std::vector<ValueId> values = n.inputs;
  const auto count = static_cast<double>(values.size());
  while (values.size() > 1) {
    std::vector<ValueId> folded;
    for (size_t i = 0; i < values.size(); i += kMostInputs) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
      folded.push_back(r.add(
          fold, name, {begin, values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), i + kMostInputs))}));
    }
    values = std::move(folded);
  }
  if (!mean) return r.replace(y, values[0]);
  return r.replace(y, r.add(op_Div, name, {values[0], scalar(r, name, r.value(y).dtype, count)}));
}

}  // namespace

const std::vector<RuleFor>& decomposition_rules() {
  static const std::vector<RuleFor> rules = {{&op_Gemm, decompose_gemm},
                                             {&op_GlobalAveragePool, decompose_global_average_pool},
                                             {&op_BatchNormalization, decompose_batch_normalization},
                                             {&op_Sum, split_fold},
                                             {&op_Mean, split_fold},
                                             {&op_Max, split_fold},
                                             {&op_Min, split_fold}};
  return rules;
}

}  // namespace gcg
