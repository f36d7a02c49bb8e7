// Tensor -> TensorProto, DType and Shape -> TypeProto.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "compiler/ir/dim.h"
#include "compiler/ir/tensor.h"

namespace gcg {

/// Sets the type and the extents, but no data yet.
onnx::TensorProto tensor_header(const Tensor& tensor, const std::string& name);

/// Includes the elements; several share a byte where ONNX packs them.
onnx::TensorProto export_tensor(const Tensor& tensor, const std::string& name);

/// True if an ONNX model stores the same bytes as the tensor.
bool is_plain(const Tensor& tensor);

/// A tensor's type. Symbolic extents become dim_params if `symbols`, else unknown extents.
onnx::TypeProto export_type(DType dtype, const std::optional<Shape>& shape, bool symbols);

}  // namespace gcg
