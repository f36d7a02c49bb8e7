// Tensor -> TensorProto, DType and Shape -> TypeProto.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "compiler/ir/dim.h"
#include "compiler/ir/tensor.h"

namespace gcg {

/// Type and extents; no data yet.
onnx::TensorProto tensor_header(const Tensor& tensor, const std::string& name);

/// With its elements, several to a byte where ONNX packs them.
onnx::TensorProto export_tensor(const Tensor& tensor, const std::string& name);

/// Do its bytes stand in a model as they stand here?
bool is_plain(const Tensor& tensor);

/// A tensor's type. Symbolic extents become dim_params where `symbols`, else unknown ones.
onnx::TypeProto export_type(DType dtype, const std::optional<Shape>& shape, bool symbols);

}  // namespace gcg
