#include "compiler/plan/rounded_constant.h"

#include "compiler/ops/deferred_constants.h"
#include "compiler/ops/ops.h"

namespace gcg {

TensorRef rounded_constant(const TensorRef& source, DType to) {
  Tensor narrow = rounded(source, to);
  narrow.set_rearrangement(
      std::make_shared<const Rearrangement>(Rearrangement{&op_Cast, {{"to", int64_t{dtype_to_onnx(to)}}}, source}));
  return std::make_shared<const Tensor>(std::move(narrow));
}

}  // namespace gcg
