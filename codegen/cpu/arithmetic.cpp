#include "codegen/cpu/arithmetic.h"

#include "codegen/cpu/contractions/block_integers.h"
#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/contractions/matmul_plan.h"
#include "compiler/kernel/loop_types.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

std::string type_of(const Kernel& kernel, int operand) {
  return std::string(name_of(kernel.operands[static_cast<size_t>(operand)].dtype));
}

/// `left`, `right`: the stored types, whose numbers products of floats take as they are.
gart::KernelTypes types_of(Multiply multiply, const std::string& left, const std::string& right) {
  if (multiply == Multiply::halves) return {"bf16", "bf16", "f32", {}};
  return {left, right, sums_floats(multiply) ? "f32" : "i32", {}};
}

gart::KernelTypes types_of(const Kernel& kernel, const MatMulKernel& matmul, const CpuTarget& target) {
  const Multiply multiply = multiply_of_product(target, kernel, matmul);
  const std::string left = type_of(kernel, matmul.a.operand);
  if (!matmul.blocks) return types_of(multiply, left, type_of(kernel, matmul.b.operand));
  const MatMulPlan plan =
      plan_matmul(matmul, target, multiply, kernel.operands[static_cast<size_t>(matmul.b.operand)].dtype);
  // Products of more rows than few_rows are products of floats.
  const Dim& rows = matmul.m.extent;
  const bool has_few_rows = !rows.is_constant() || rows.constant() <= plan.few_rows;
  const bool as_integers = plan.rows_as_integers && has_few_rows;
  return {as_integers ? (matmul.blocks->exact ? "i24" : "i16") : left, concat("i", matmul.blocks->bits), "f32", {}};
}

gart::KernelTypes types_of(const Kernel& kernel, const ConvKernel& conv, const CpuTarget& target) {
  const DType weights = kernel.operands[static_cast<size_t>(conv.weights)].dtype;
  return types_of(plan_conv(conv, target, true, weights).multiply, type_of(kernel, conv.input),
                  std::string(name_of(weights)));
}

gart::KernelTypes types_of(const Kernel& kernel, const AttentionKernel& attention, const CpuTarget&) {
  return {type_of(kernel, attention.q.operand), type_of(kernel, attention.k.operand), "f32", {}};
}

template <class Body>
gart::KernelTypes types_of(const Kernel& kernel, const Body&, const CpuTarget&) {
  return {arithmetic_of_loops(kernel), {}, {}, {}};
}

}  // namespace

gart::KernelTypes arithmetic_of(const Kernel& kernel, const CpuTarget& target) {
  return std::visit([&](const auto& body) { return types_of(kernel, body, target); }, kernel.body);
}

}  // namespace gcg::cpu
