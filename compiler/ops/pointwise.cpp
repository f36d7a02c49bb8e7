#include "compiler/ops/pointwise.h"

namespace gcg {

void require_dtype(const InferContext& ctx, int i, Types types) {
  if (!is_one_of(ctx.dtype(i), types))
    ctx.fail(concat("input ", i, " is ", name_of(ctx.dtype(i)), ", it must be ", phrase_of(types)));
}

Expr scalar_input(LowerContext& ctx, int i, DType dtype) {
  const Value& value = ctx.input_value(i);
  if (const TensorRef& c = value.constant)
    return is_float(dtype) ? constant_float(dtype, c->at_double(0)) : constant_int(dtype, c->at_int(0));
  return cast(dtype, ctx.input(i, std::vector<Expr>(value.shape->size(), index(0))));
}

}  // namespace gcg
