// Tensors in and out of files: .npz and .npy (NumPy), .pb (ONNX TensorProto), and seeded noise.
#pragma once

#include <map>
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

/// Of a dense tensor. Throws where extents are negative or the product overflows; `where` names the tensor.
int64_t checked_bytes(const std::vector<int64_t>& shape, gart::DType dtype, const std::string& where);

using NamedTensors = std::map<std::string, HostTensor>;

/// All throw gcg::CompileError with one sentence naming the file and what is wrong.
NamedTensors read_npz(const std::string& path);
HostTensor read_npy(const std::string& path);
HostTensor read_pb(const std::string& path);
void write_npz(const std::string& path, const std::map<std::string, gart::TensorView>& tensors);

/// Floats about standard normal; integers in [0, 2); the same seed and name give the same numbers.
HostTensor random_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace gcg::tools
