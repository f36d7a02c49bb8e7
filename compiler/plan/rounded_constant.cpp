#include "compiler/plan/rounded_constant.h"

#include <algorithm>

#include "compiler/ops/op_def.h"

namespace gcg {

TensorRef rounded_constant(const TensorRef& source, DType to) {
  Tensor rounded(to, source->shape());
  const std::span<const float> from = source->as<float>();
  std::transform(from.begin(), from.end(), rounded.as_mutable<uint16_t>().begin(),
                 to == DType::f16 ? float_to_f16 : float_to_bf16);
  rounded.set_rearrangement(
      std::make_shared<const Rearrangement>(Rearrangement{&op("Cast"), {{"to", int64_t{dtype_to_onnx(to)}}}, source}));
  return std::make_shared<const Tensor>(std::move(rounded));
}

}  // namespace gcg
