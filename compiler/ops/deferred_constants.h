// Makes large constants whose elements are computed when they are read (compiler/ir/deferred.h).
#pragma once

#include "compiler/ir/deferred.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// The result of the operator's reference, which has this type and shape. It is computed now if it is small.
/// Requires: the reference cannot fail.
Tensor computed_when_read(Recipe recipe, DType dtype, const std::vector<int64_t>& shape);

/// The elements of an f16 or bf16 constant as f32. If they were moved from another constant, they are moved from its
/// f32 form, so that passes still see that both have the same elements.
Tensor widened(const TensorRef& narrow);

/// The elements of an f32 constant, rounded to f16 or bf16. If they were widened from that type, and only moved since
/// then, nothing is computed in f32.
Tensor rounded(const TensorRef& wide, DType to);

/// The constants of type `to` from which the elements of an f32 constant were widened, if all of them were, and if
/// they were only moved since then. Otherwise empty.
std::vector<TensorRef> widened_from(const TensorRef& wide, DType to);

}  // namespace gcg
