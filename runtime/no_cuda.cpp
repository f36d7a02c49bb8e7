// Replaces runtime/cuda in a libgart without CUDA.
#include "runtime/device.h"

namespace gart {

DeviceChoice choose_cuda(const fb::Manifest&, const LoadOptions&) {
  return {nullptr, "this libgart was built without its CUDA part"};
}

}  // namespace gart
