// com.microsoft: GatedAdd adds what a shared expert gives; ScaledSiLU is an activation.
#include "compiler/ops/microsoft.h"
#include "compiler/ops/op_support.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

// ---- GatedAdd: X + Y * gate; with weights, the gate is sigmoid(gate x weights). Each step is rounded to X's type.

Results expand_gated_add(Expansion& x) {
  enum : size_t { kX, kY, kGate, kWeights };
  const DType type = x.dtype(kX);
  ValueId gate = x.input(kGate);
  if (x.has_input(kWeights)) {
    const ValueId p = x.node("MatMul", {x.cast(gate, DType::f32), x.cast(x.input(kWeights), DType::f32)});
    gate = x.cast(x.node("Sigmoid", {x.cast(x.cast(p, type), DType::f32)}), type);
  }
  return {x.add(x.input(kX), x.multiply(x.input(kY), gate))};
}

// ---- ScaledSiLU: silu(scale * X). Each step is rounded to X's type.

Results expand_scaled_silu(Expansion& x) {
  const double alpha = x.node().float_attribute("alpha", 1);
  const ValueId scale = x.has_input(1) ? x.input(1) : x.scalar(x.dtype(0), alpha);
  const ValueId scaled = x.multiply(x.input(0), scale);
  return {x.multiply(scaled, x.node("Sigmoid", {scaled}))};
}

}  // namespace

constinit const ExpandedOp op_microsoft_GatedAdd =
    microsoft("GatedAdd", 3, 4, {Types::floats, Types::as_first}, expand_gated_add);
constinit const ExpandedOp op_microsoft_ScaledSiLU =
    microsoft("ScaledSiLU", 1, 2, {Types::floats, Types::as_first}, expand_scaled_silu);

}  // namespace gcg
