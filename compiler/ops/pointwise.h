// Helpers for pointwise operators. Each family's file defines a function twice, as an expression and as plain
// arithmetic. This header derives the rest.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/op_def.h"
#include "compiler/ops/op_support.h"

namespace gcg {

/// Output 0 has the type and shape of input 0.
inline void infer_like_input(InferContext& ctx) { ctx.set_output(0, ctx.dtype(0), ctx.shape(0)); }
/// Fails unless input `i` has one of these types; for conditions that DeclaredTypes cannot express.
void require_dtype(const InferContext& ctx, int i, Types types);

/// Applies `f` to the contents of input `i` and sets the results as contents of output 0. Sets nothing if `f` fails for
/// some element.
template <class F>
void map_contents(InferContext& ctx, int i, F f) {
  const auto from = ctx.contents(i);
  if (!from) return;
  std::vector<Dim> to;
  for (const Dim& d : *from) {
    const std::optional<Dim> mapped = f(d);
    if (!mapped) return;
    to.push_back(*mapped);
  }
  ctx.set_contents(0, std::move(to));
}

/// kBuild(node, x) in the arithmetic dtype, stored in the output's dtype.
template <auto kBuild>
Expr lower_unary(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  return as_output(ctx, output, kBuild(ctx.node(), arithmetic_input(ctx, 0, at)));
}
template <UnaryOp kOp>
Expr build_unary(const Node&, const Expr& x) {
  return unary(kOp, x);
}

/// kFunction(node, x) of each element, in double.
template <auto kFunction>
std::vector<Tensor> reference_float(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(ctx.output_dtype(0), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i)
    y.set_double(i, static_cast<double>(kFunction(ctx.node(), x.at_double(i))));
  return {std::move(y)};
}

/// kFunction(node, x) of each element, in double, int64_t or uint64_t, depending on the dtype.
template <auto kFunction>
std::vector<Tensor> reference_number(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(ctx.output_dtype(0), x.shape());
  with_number_type(x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.elements(); ++i) put<T>(y, i, static_cast<T>(kFunction(ctx.node(), get<T>(x, i))));
  });
  return {std::move(y)};
}

/// A scalar input in `dtype`: a literal if it is constant, else its element.
Expr scalar_input(LowerContext& ctx, int i, DType dtype);

/// An operator on floats that is a single UnaryOp.
template <UnaryOp kOp, auto kFunction>
constexpr OpDef float_unary(const char* name, int since, Traits traits = {}) {
  return {.name = name,
          .since = since,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {Types::floats},
          .kind = OpKind::pointwise,
          .traits = traits,
          .infer = infer_like_input,
          .lower = lower_unary<build_unary<kOp>>,
          .reference = reference_float<kFunction>};
}

/// A float function of one input and the node's attributes: kBuild(node, Expr) and kFunction(node, double).
template <auto kBuild, auto kFunction>
constexpr OpDef float_function(const char* name, int since, Traits traits = {}) {
  return {.name = name,
          .since = since,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {Types::floats},
          .kind = OpKind::pointwise,
          .traits = traits,
          .infer = infer_like_input,
          .lower = lower_unary<kBuild>,
          .reference = reference_float<kFunction>};
}

}  // namespace gcg
