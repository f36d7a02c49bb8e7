#include "tools/gcc-graph/io/host_tensor.h"

#include <cstring>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

int64_t checked_bytes(const std::vector<int64_t>& shape, gart::DType dtype, const std::string& where) {
  auto bytes = static_cast<int64_t>(gart::size_of(dtype));
  for (int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) fail(where, ": the tensor's extents are out of range");
  return bytes;
}

HostTensor string_tensor(const std::vector<int64_t>& shape, std::vector<std::string> texts, const std::string& where) {
  HostTensor out{gart::DType::string, shape, {}, std::make_shared<const std::vector<std::string>>(std::move(texts))};
  out.bytes.resize(out.texts->size() * sizeof(char*));
  for (size_t i = 0; i < out.texts->size(); ++i) {
    const std::string& text = (*out.texts)[i];
    if (text.find('\0') != std::string::npos) fail(where, ": string ", i, " has a NUL character");
    const char* address = text.c_str();
    std::memcpy(out.bytes.data() + i * sizeof address, &address, sizeof address);
  }
  return out;
}

gart::TensorView HostTensor::view() const {
  return {bytes.data(), dtype, gart::Shape(std::span<const int64_t>(shape)), "cpu"};
}

}  // namespace gcg::tools
