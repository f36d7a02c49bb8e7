// A tensor that the tool owns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gart/gart.hpp"

namespace gcg::tools {

/// An owned tensor read from a file. `bytes` are dense and row-major. For strings, `bytes` are the addresses of
/// `texts`.
struct HostTensor {
  gart::DType dtype = gart::DType::undefined;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  std::shared_ptr<const std::vector<std::string>> texts = {};

  gart::TensorView view() const;
};

/// A tensor of strings. Throws if a text contains a NUL character, which would end the text.
HostTensor string_tensor(const std::vector<int64_t>& shape, std::vector<std::string> texts, const std::string& where);

/// The bytes of a dense tensor. Throws if extents are negative or the product overflows. `where` names the tensor.
int64_t checked_bytes(const std::vector<int64_t>& shape, gart::DType dtype, const std::string& where);

}  // namespace gcg::tools
