// A call as a graph of cuDNN operations.
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
  uint32_t alignment;  // alignment of its address, in bytes
};

/// The type of all sums.
inline constexpr cudnnDataType_t kCudnnSums = CUDNN_DATA_FLOAT;

class CudnnGraph {
 public:
  /// Throws Failure. `problem` must outlive this object. `handle`: null if plans are made for a device that is only
  /// described.
  CudnnGraph(const CudnnFunctions& functions, cudnnHandle_t handle, const CallProblem& problem);

  const CudnnDescriptor& operations() const { return graph_; }
  /// The names of the call's tensors, in order, followed by the scalars.
  std::vector<int64_t> uids() const;
  /// Values that the library reads from host memory during its call.
  const std::vector<float>& scalars() const { return scalars_; }

  // Used by the functions that describe operations. The returned objects live as long as the graph.
  const CallProblem& problem() const { return p_; }
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type);
  /// Three kinds of tensors: tensor `index` of the call with this view; a dense value that is not stored; a number.
  const CudnnDescriptor& tensor(size_t index, const CudnnTensor& t);
  const CudnnDescriptor& intermediate(fb::DType dtype, const std::vector<int64_t>& extents);
  const CudnnDescriptor& scalar(float value);
  /// Adds a complete operation to the graph.
  void append(CudnnDescriptor& operation);
  /// Appends y = op(x), or op(x, b), in f32, as a separate operation.
  void append_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                        const CudnnDescriptor& y);

 private:
  CudnnDescriptor& describe(const CudnnTensor& t, int64_t uid);

  const CudnnFunctions& dnn_;
  const CallProblem& p_;
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;  // the descriptors that the operations point to
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<float> scalars_;
  CudnnDescriptor graph_;
};

/// These functions describe the operations of a call's kind. They throw Failure (unsupported) if the library does not
/// have them.
void describe_convolution(CudnnGraph& graph);
void describe_attention(CudnnGraph& graph);

}  // namespace gart::cuda
