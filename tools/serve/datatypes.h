// Names of element types in the Open Inference Protocol.
#pragma once

#include <string_view>

#include "gart/tensor.h"

namespace gcg::serve {

/// "FP32"
std::string_view datatype_name(gart::DType dtype);
/// `undefined` if there is no such type.
gart::DType dtype_of(std::string_view datatype);

}  // namespace gcg::serve
