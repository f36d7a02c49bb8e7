#include "runtime/cuda/libraries/library.h"

#include <dlfcn.h>

#include "runtime/cuda/driver/symbols.h"
#include "runtime/errors.h"

namespace gart::cuda {

SharedLibrary::SharedLibrary(std::vector<std::string> names) {
  for (std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = std::move(name);
      return;
    }
    const char* why = dlerror();
    reason_ += text(reason_.empty() ? "" : "; ", why == nullptr ? name : why);
  }
}

bool SharedLibrary::load(const char* names, void* table) {
  const char* missing = find_symbols(handle_, names, table);
  if (missing != nullptr) reason_ = text(name_, " has no function ", missing);
  return missing == nullptr;
}

std::string library_version_text(uint64_t version) {
  return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// Uses relaxed mode, because a library may load code and allocate memory on its first call.
void Capture::begin(const std::string& step) {
  if (stream_ == nullptr) stream_ = std::make_unique<Stream>(device_);
  device_.check(device_.driver.cuStreamBeginCapture_v2(stream_->handle, CU_STREAM_CAPTURE_MODE_RELAXED),
                "cuStreamBeginCapture_v2", step);
}

/// The stream of a failed capture is not used again.
void Capture::abandon() noexcept {
  CUgraph graph = nullptr;
  device_.driver.cuStreamEndCapture(stream_->handle, &graph);
  if (graph != nullptr) device_.driver.cuGraphDestroy(graph);
  stream_.reset();
}

CUgraph Capture::end(const std::string& step) {
  CUgraph graph = nullptr;
  const CUresult result = device_.driver.cuStreamEndCapture(stream_->handle, &graph);
  if (result != CUDA_SUCCESS) stream_.reset();
  device_.check(result, "cuStreamEndCapture", step);
  return graph;
}

}  // namespace gart::cuda
