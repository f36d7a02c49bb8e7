#include "runtime/cuda/cudnn_graph.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::cuda {
namespace {

constexpr int64_t kFirstUid = 1, kFirstVirtualUid = 100;
constexpr cudnnDataType_t kSums = CUDNN_DATA_FLOAT;

cudnnDataType_t data_type(fb::DType dtype, const std::string& step) {
  if (dtype == fb::DType::f32) return CUDNN_DATA_FLOAT;
  if (dtype == fb::DType::f16) return CUDNN_DATA_HALF;
  if (dtype == fb::DType::bf16) return CUDNN_DATA_BFLOAT16;
  fail(ErrorCode::unsupported, step, ": cuDNN has no products of ", fb::EnumNameDType(dtype));
}

}  // namespace

CudnnGraph::CudnnGraph(const CudnnFunctions& functions, cudnnHandle_t handle, const CallProblem& problem)
    : dnn_(functions), p_(problem), graph_(functions, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, problem.step) {
  convolution();
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_.data(), operations_.size());
  graph_.finalize();
}

std::vector<int64_t> CudnnGraph::uids() const {
  std::vector<int64_t> uids;
  for (size_t i = 0; i < p_.tensors.size(); ++i) uids.push_back(kFirstUid + int64_t(i));
  return uids;
}

CudnnDescriptor& CudnnGraph::add(cudnnBackendDescriptorType_t type) {
  parts_.push_back(std::make_unique<CudnnDescriptor>(dnn_, type, p_.step));
  return *parts_.back();
}

std::vector<int64_t> CudnnGraph::two_dimensional(std::vector<int64_t> values, int64_t inserted) const {
  if (p_.call->strides()->size() == 1) values.insert(values.end() - 1, inserted);
  return values;
}

const CudnnDescriptor& CudnnGraph::tensor(fb::DType dtype, std::vector<int64_t> extents, std::vector<int64_t> strides,
                                          uint32_t alignment, int64_t uid, bool is_virtual) {
  CudnnDescriptor& d = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const cudnnDataType_t type = data_type(dtype, p_.step);
  const int64_t bytes = alignment;
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
  d.set_int64(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  d.set_int64(CUDNN_ATTR_TENSOR_STRIDES, strides);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &uid);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &bytes);
  if (is_virtual) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &is_virtual);
  d.finalize();
  return d;
}

const CudnnDescriptor& CudnnGraph::tensor(size_t index) {
  const CallTensor& t = p_.tensors[index];
  const std::vector<int64_t> extents = two_dimensional(t.extents, 1);
  std::vector<int64_t> strides = two_dimensional(t.strides, 0);
  for (size_t d = extents.size(); d-- > 0;) {  // of an axis of one element no stride is known
    if (extents[d] == 1 && strides[d] == 0) strides[d] = d + 1 == extents.size() ? 1 : extents[d + 1] * strides[d + 1];
  }
  return tensor(t.dtype, extents, std::move(strides), t.alignment(), kFirstUid + int64_t(index), false);
}

const CudnnDescriptor& CudnnGraph::bias() {
  const size_t index = p_.result() + 1, spatial = std::max<size_t>(p_.call->strides()->size(), 2);
  const CallTensor& t = p_.tensors[index];
  std::vector<int64_t> extents(2 + spatial, 1), strides(2 + spatial, 1);
  extents[1] = strides[0] = t.extents[0];
  return tensor(t.dtype, extents, strides, t.alignment(), kFirstUid + int64_t(index), false);
}

/// Of the result's form, but dense and of the type of the sums.
const CudnnDescriptor& CudnnGraph::virtual_result() {
  const std::vector<int64_t> extents = two_dimensional(p_.tensors[p_.result()].extents, 1);
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * extents[d + 1];
  return tensor(fb::DType::f32, extents, strides, 16, kFirstVirtualUid + int64_t(parts_.size()), true);
}

void CudnnGraph::add_convolution(const CudnnDescriptor& y) {
  const fb::Call& call = *p_.call;
  std::vector<int64_t> strides, dilations, before, behind;
  for (uint32_t i = 0; i < call.strides()->size(); ++i) {
    const int64_t input = p_.tensors[0].extents[i + 2], window = (p_.tensors[1].extents[i + 2] - 1) * call.dilations()->Get(i) + 1;
    strides.push_back(call.strides()->Get(i));
    dilations.push_back(call.dilations()->Get(i));
    before.push_back(call.pads()->Get(i));
    const int64_t reach = (p_.tensors[2].extents[i + 2] - 1) * strides.back() + window;
    behind.push_back(std::max<int64_t>(0, reach - before.back() - input));
  }
  CudnnDescriptor& d = add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const int64_t spatial = int64_t(std::max<size_t>(strides.size(), 2));
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &kSums);
  d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode);
  d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &spatial);
  d.set_int64(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, two_dimensional(strides, 1));
  d.set_int64(CUDNN_ATTR_CONVOLUTION_DILATIONS, two_dimensional(dilations, 1));
  d.set_int64(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, two_dimensional(before, 0));
  d.set_int64(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, two_dimensional(behind, 0));
  d.finalize();
  const CudnnDescriptor &x = tensor(0), &w = tensor(1);
  CudnnDescriptor& operation = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const float alpha = 1, beta = 0;
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, d);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, &alpha);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, &beta);
  operation.finalize();
  operations_.push_back(operation.handle());
}

void CudnnGraph::add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                               const CudnnDescriptor& y) {
  CudnnDescriptor& d = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
  d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &kSums);
  d.finalize();
  CudnnDescriptor& operation = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
  operations_.push_back(operation.handle());
}

/// In the order that the library's engines for fused convolutions know: addend, bias, activation.
void CudnnGraph::convolution() {
  const bool relu = p_.call->activation() == fb::Activation::relu;
  if (p_.call->activation() == fb::Activation::gelu_tanh || p_.call->scale() != 1) {
    fail(ErrorCode::unsupported, p_.step, ": cuDNN's convolutions have neither a scale nor this activation");
  }
  int left = int(p_.call->addend()) + int(p_.call->bias()) + int(relu);
  const CudnnDescriptor& y = tensor(p_.result());
  const CudnnDescriptor* sum = left == 0 ? &y : &virtual_result();
  add_convolution(*sum);
  const auto follow = [&](cudnnPointwiseMode_t mode, const CudnnDescriptor* b) {
    const CudnnDescriptor* next = --left == 0 ? &y : &virtual_result();
    add_pointwise(mode, *sum, b, *next);
    sum = next;
  };
  if (p_.call->addend()) follow(CUDNN_POINTWISE_ADD, &tensor(p_.tensors.size() - 1));
  if (p_.call->bias()) follow(CUDNN_POINTWISE_ADD, &bias());
  if (relu) follow(CUDNN_POINTWISE_RELU_FWD, nullptr);
}

}  // namespace gart::cuda
