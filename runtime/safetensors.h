// safetensors files: 8 bytes with the header's length, a JSON header, the tensors' bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/tensor.h"

namespace gart {

struct StoredTensor {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  std::span<const uint8_t> bytes;
};

/// Writes the file beside `path`, and replaces `path` when it is complete. Throws Failure, also for an element type
/// that the format does not have.
void write_safetensors(const std::string& path, std::span<const Tensor> tensors);

/// The tensors in `file`, whose bytes they refer to. Throws Failure that names the fault and its place.
std::vector<StoredTensor> read_safetensors(std::span<const uint8_t> file);

}  // namespace gart
