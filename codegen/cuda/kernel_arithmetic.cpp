#include "codegen/cuda/kernel_arithmetic.h"

#include "codegen/cuda/contractions/product_cost.h"
#include "compiler/kernel/block_products.h"
#include "compiler/kernel/loop_types.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

/// The type of a factor that is stored as `operand`: products in f32, or in several parts, take 16-bit numbers as they
/// are.
std::string factor(const Kernel& kernel, int operand, Arithmetic arithmetic) {
  const DType stored = kernel.operands[static_cast<size_t>(operand)].dtype;
  const bool is_exact = arithmetic == Arithmetic::scalar || arithmetic == Arithmetic::tf32x3;
  return std::string(is_exact && size_of(stored) < 4 ? name_of(stored) : name_of(arithmetic));
}

gart::KernelTypes product(const Kernel& kernel, int left, int right, const Target& target) {
  const Arithmetic arithmetic = arithmetic_of(target);
  return {factor(kernel, left, arithmetic), factor(kernel, right, arithmetic), "f32", {}};
}

gart::KernelTypes types_of(const Kernel& kernel, const MatMulKernel& matmul, const Target& target) {
  if (!matmul.blocks) return product(kernel, matmul.a.operand, matmul.b.operand, target);
  const bool is_whole = parts_of_factors(target) > 1;
  const char* half = arithmetic_of(target) == Arithmetic::f16 ? "f16" : "bf16";
  return {is_whole ? "3xbf16" : half, concat("i", matmul.blocks->bits), "f32", {}};
}

gart::KernelTypes types_of(const Kernel& kernel, const PlainConvKernel& conv, const Target& target) {
  return product(kernel, conv.input, conv.weights, target);
}

gart::KernelTypes types_of(const Kernel& kernel, const AttentionKernel& attention, const Target& target) {
  return product(kernel, attention.q.operand, attention.k.operand, target);
}

template <class Body>
gart::KernelTypes types_of(const Kernel& kernel, const Body&, const Target&) {
  return {arithmetic_of_loops(kernel), {}, {}, {}};
}

}  // namespace

gart::KernelTypes arithmetic_of(const Kernel& kernel, const Target& target) {
  return std::visit([&](const auto& body) { return types_of(kernel, body, target); }, kernel.body);
}

}  // namespace gcg::cuda
