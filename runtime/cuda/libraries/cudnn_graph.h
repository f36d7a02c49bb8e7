// A call as cuDNN's graph of operations.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/libraries/cudnn_descriptor.h"
#include "runtime/cuda/libraries/library_call.h"

namespace gart::cuda {

/// Strides in elements.
struct CudnnTensor {
  fb::DType dtype;
  std::vector<int64_t> extents, strides;
  uint32_t alignment;  // of its address, bytes
};

/// What all sums are computed in.
inline constexpr cudnnDataType_t kCudnnSums = CUDNN_DATA_FLOAT;

class CudnnGraph {
 public:
  /// Throws Failure. `problem` must live as long as this. `handle`: null where plans are made for a device that is only
  /// described.
  CudnnGraph(const CudnnFunctions& functions, cudnnHandle_t handle, const CallProblem& problem);

  const CudnnDescriptor& operations() const { return graph_; }
  /// By which the call's tensors are named, in their order, and after them the scalars.
  std::vector<int64_t> uids() const;
  /// Values that the library reads from the host's memory when it is called.
  const std::vector<float>& scalars() const { return scalars_; }

  // For those that describe operations. What they get lives as long as the graph.
  const CallProblem& problem() const { return p_; }
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type);
  /// Tensor `index` of the call, seen in this way; a dense value that nobody stores; a number.
  const CudnnDescriptor& tensor(size_t index, const CudnnTensor& t);
  const CudnnDescriptor& intermediate(fb::DType dtype, const std::vector<int64_t>& extents);
  const CudnnDescriptor& scalar(float value);
  /// Takes a complete operation into the graph.
  void append(CudnnDescriptor& operation);
  /// y = x, or x and b, in f32, as an operation of its own.
  void append_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                        const CudnnDescriptor& y);

 private:
  CudnnDescriptor& describe(const CudnnTensor& t, int64_t uid);

  const CudnnFunctions& dnn_;
  const CallProblem& p_;
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;  // what the operations point to
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<float> scalars_;
  CudnnDescriptor graph_;
};

/// The operations of a call's kind. Throw Failure (unsupported) where the library has no such.
void describe_convolution(CudnnGraph& graph);
void describe_attention(CudnnGraph& graph);

}  // namespace gart::cuda
