// TensorProto -> Tensor.
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <optional>
#include <string>

#include "compiler/import/external_data.h"
#include "compiler/ir/tensor.h"

namespace gcg {

/// The reason why a tensor of this TensorProto.DataType is not supported ("its type is string, ..."); nullopt if it is
/// supported.
std::optional<std::string> unsupported_dtype(int32_t onnx_type);

/// Number of elements. Fails on a negative extent, and on a size that no memory can hold. `what` begins the message:
/// "tensor 'w'".
int64_t checked_elements(const std::vector<int64_t>& shape, DType dtype, const std::string& what);

/// The tensor's elements. Raw and external data are used in place: `owner` keeps `proto` alive. Throws CompileError for
/// data whose size does not fit the shape. Requires: the dtype is supported.
Tensor import_tensor(const onnx::TensorProto& proto, const std::string& name, const std::shared_ptr<const void>& owner,
                     ExternalData& external);

/// The tensor with zeros where the sparse one has no element. Throws CompileError for indices out of range or not in
/// ascending order. Requires: the dtype of the values is supported.
Tensor import_sparse_tensor(const onnx::SparseTensorProto& proto, const std::string& name,
                            const std::shared_ptr<const void>& owner, ExternalData& external);

}  // namespace gcg
