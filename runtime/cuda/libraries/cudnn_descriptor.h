// cuDNN's functions and descriptors: each request to cuDNN is a tree of descriptors.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/libraries/cudnn_api.h"

namespace gart::cuda {

struct CudnnFunctions {
#define GART_CUDNN_MEMBER(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  GART_CUDNN_FUNCTIONS(GART_CUDNN_MEMBER)
  GART_CUDNN_OPTIONAL_FUNCTIONS(GART_CUDNN_MEMBER)
#undef GART_CUDNN_MEMBER
};

/// Throws Failure (unsupported) unless the call `name` succeeded. `step`: the step it belongs to.
void check_cudnn(const CudnnFunctions& dnn, cudnnStatus_t status, const char* name, const std::string& step);

class CudnnDescriptor {
 public:
  /// Throws Failure.
  CudnnDescriptor(const CudnnFunctions& functions, cudnnBackendDescriptorType_t type, const std::string& step);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values, size_t count = 1);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void set_int64(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void finalize();
  /// Returns the status instead of throwing, for descriptors that the library may not support.
  cudnnStatus_t try_finalize();
  /// The number of values of the attribute.
  int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  /// Reads up to `count` values and returns how many there are.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, void* values, size_t count) const;

  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  const CudnnFunctions* functions_;
  const std::string* step_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace gart::cuda
