#include "runtime/cuda/libraries/cudnn_descriptor.h"

#include <utility>

#include "runtime/cuda/libraries/library.h"
#include "runtime/errors.h"

namespace gart::cuda {

void check_cudnn(const CudnnFunctions& dnn, cudnnStatus_t status, const char* name, const std::string& step) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char detail[256] = "";
  dnn.cudnnGetLastErrorString(detail, sizeof detail);
  detail[sizeof detail - 1] = '\0';
  const char* text = dnn.cudnnGetErrorString(status);
  fail(ErrorCode::unsupported, name, " of cuDNN ", library_version_text(dnn.cudnnGetVersion()), " failed",
       step.empty() ? "" : " in ", step, ": ", text == nullptr ? "status" : text, " (", status, ")",
       detail[0] == '\0' ? "" : ": ", static_cast<const char*>(detail));
}

CudnnDescriptor::CudnnDescriptor(const CudnnFunctions& functions, cudnnBackendDescriptorType_t type,
                                 const std::string& step)
    : functions_(&functions), step_(&step) {
  check_cudnn(functions, functions.cudnnBackendCreateDescriptor(type, &handle_), "cudnnBackendCreateDescriptor", step);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : functions_(other.functions_), step_(other.step_), handle_(std::exchange(other.handle_, nullptr)) {}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr) functions_->cudnnBackendDestroyDescriptor(handle_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values,
                          size_t count) {
  check_cudnn(*functions_, functions_->cudnnBackendSetAttribute(handle_, name, type, int64_t(count), values),
              "cudnnBackendSetAttribute", *step_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &value.handle_);
}

void CudnnDescriptor::set_int64(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, values.data(), values.size());
}

cudnnStatus_t CudnnDescriptor::try_finalize() { return functions_->cudnnBackendFinalize(handle_); }

void CudnnDescriptor::finalize() { check_cudnn(*functions_, try_finalize(), "cudnnBackendFinalize", *step_); }

int64_t CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, void* values,
                             size_t count) const {
  int64_t there = 0;
  check_cudnn(*functions_, functions_->cudnnBackendGetAttribute(handle_, name, type, int64_t(count), &there, values),
              "cudnnBackendGetAttribute", *step_);
  return there;
}

int64_t CudnnDescriptor::count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
  return get(name, type, nullptr, 0);
}

}  // namespace gart::cuda
