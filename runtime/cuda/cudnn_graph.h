// A call as cuDNN's graph of operations.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/cudnn_descriptor.h"
#include "runtime/cuda/library_call.h"

namespace gart::cuda {

class CudnnGraph {
 public:
  /// Throws Failure. `problem` must live as long as this.
  CudnnGraph(const CudnnFunctions& functions, cudnnHandle_t handle, const CallProblem& problem);

  const CudnnDescriptor& operations() const { return graph_; }
  /// By which the call's tensors are named, in their order.
  std::vector<int64_t> uids() const;

 private:
  /// In the tensor's own form, 1-D convolutions as 2-D ones of one row.
  std::vector<int64_t> two_dimensional(std::vector<int64_t> values, int64_t inserted) const;
  const CudnnDescriptor& tensor(fb::DType dtype, std::vector<int64_t> extents, std::vector<int64_t> strides, uint32_t alignment,
                                int64_t uid, bool is_virtual);
  const CudnnDescriptor& tensor(size_t index);
  const CudnnDescriptor& bias();
  const CudnnDescriptor& virtual_result();
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type);
  void add_convolution(const CudnnDescriptor& y);
  void add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b, const CudnnDescriptor& y);
  void convolution();

  const CudnnFunctions& dnn_;
  const CallProblem& p_;
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;  // what the operations point to
  std::vector<cudnnBackendDescriptor_t> operations_;
  CudnnDescriptor graph_;
};

}  // namespace gart::cuda
