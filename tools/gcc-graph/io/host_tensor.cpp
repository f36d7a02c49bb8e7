#include "tools/gcc-graph/io/host_tensor.h"

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

int64_t checked_bytes(const std::vector<int64_t>& shape, gart::DType dtype, const std::string& where) {
  auto bytes = static_cast<int64_t>(gart::size_of(dtype));
  for (int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) fail(where, ": the tensor's extents are out of range");
  return bytes;
}

gart::TensorView HostTensor::view() const {
  return {bytes.data(), dtype, gart::Shape(std::span<const int64_t>(shape)), "cpu"};
}

}  // namespace gcg::tools
