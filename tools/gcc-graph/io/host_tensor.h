// A tensor that the tool owns.
#pragma once

#include <string>
#include <vector>

#include "gart/gart.hpp"

namespace gcg::tools {

/// An owned tensor read from a file. `bytes` are dense and row-major.
struct HostTensor {
  gart::DType dtype = gart::DType::undefined;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  gart::TensorView view() const;
};

/// The number of bytes of a dense tensor. Throws if extents are negative or the product overflows. `where` names the
/// tensor.
int64_t checked_bytes(const std::vector<int64_t>& shape, gart::DType dtype, const std::string& where);

}  // namespace gcg::tools
