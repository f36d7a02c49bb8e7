#include "runtime/cuda/libraries/cudnn_graph.h"

#include "runtime/errors.h"

namespace gart::cuda {
namespace {

constexpr int64_t kFirstUid = 1, kFirstScalarUid = 50, kFirstIntermediateUid = 100;

cudnnDataType_t data_type(fb::DType dtype, const std::string& step) {
  if (dtype == fb::DType::f32) return CUDNN_DATA_FLOAT;
  if (dtype == fb::DType::f16) return CUDNN_DATA_HALF;
  if (dtype == fb::DType::bf16) return CUDNN_DATA_BFLOAT16;
  fail(ErrorCode::unsupported, step, ": cuDNN has no products of ", fb::EnumNameDType(dtype));
}

}  // namespace

CudnnGraph::CudnnGraph(const CudnnFunctions& functions, cudnnHandle_t handle, const CallProblem& problem)
    : dnn_(functions), p_(problem), graph_(functions, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, problem.step) {
  if (problem.call->operation() == fb::Operation::attention) {
    describe_attention(*this);
  } else {
    describe_convolution(*this);
  }
  if (handle != nullptr) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_.data(), operations_.size());
  graph_.finalize();
}

std::vector<int64_t> CudnnGraph::uids() const {
  std::vector<int64_t> uids;
  for (size_t i = 0; i < p_.tensors.size(); ++i) uids.push_back(kFirstUid + int64_t(i));
  for (size_t i = 0; i < scalars_.size(); ++i) uids.push_back(kFirstScalarUid + int64_t(i));
  return uids;
}

CudnnDescriptor& CudnnGraph::add(cudnnBackendDescriptorType_t type) {
  parts_.push_back(std::make_unique<CudnnDescriptor>(dnn_, type, p_.step));
  return *parts_.back();
}

CudnnDescriptor& CudnnGraph::describe(const CudnnTensor& t, int64_t uid) {
  CudnnDescriptor& d = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const cudnnDataType_t type = data_type(t.dtype, p_.step);
  const int64_t bytes = t.alignment;
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
  d.set_int64(CUDNN_ATTR_TENSOR_DIMENSIONS, t.extents);
  d.set_int64(CUDNN_ATTR_TENSOR_STRIDES, t.strides);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &uid);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &bytes);
  return d;
}

const CudnnDescriptor& CudnnGraph::tensor(size_t index, const CudnnTensor& t) {
  CudnnTensor known = t;
  for (size_t d = known.extents.size(); d-- > 0;) {  // the stride of an axis with one element is arbitrary
    int64_t& stride = known.strides[d];
    if (known.extents[d] == 1 && stride == 0)
      stride = d + 1 == known.extents.size() ? 1 : known.extents[d + 1] * known.strides[d + 1];
  }
  CudnnDescriptor& d = describe(known, kFirstUid + int64_t(index));
  d.finalize();
  return d;
}

const CudnnDescriptor& CudnnGraph::intermediate(fb::DType dtype, const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * extents[d + 1];
  CudnnDescriptor& d =
      describe({dtype, extents, std::move(strides), 16}, kFirstIntermediateUid + int64_t(parts_.size()));
  const bool yes = true;
  d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &yes);
  d.finalize();
  return d;
}

const CudnnDescriptor& CudnnGraph::scalar(float value) {
  const std::vector<int64_t> ones(4, 1);
  CudnnDescriptor& d = describe({fb::DType::f32, ones, ones, sizeof value}, kFirstScalarUid + int64_t(scalars_.size()));
  const bool yes = true;
  d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &yes);
  d.finalize();
  scalars_.push_back(value);
  return d;
}

void CudnnGraph::append(CudnnDescriptor& operation) {
  operation.finalize();
  operations_.push_back(operation.handle());
}

void CudnnGraph::append_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                                  const CudnnDescriptor& y) {
  CudnnDescriptor& d = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
  d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &kCudnnSums);
  d.finalize();
  CudnnDescriptor& operation = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  append(operation);
}

}  // namespace gart::cuda
