// Tensors in and out of files: .npz and .npy (NumPy), .pb (ONNX TensorProto), and seeded noise.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

using NamedTensors = std::map<std::string, HostTensor>;
using ArrayCheck = std::function<void(const std::string& name, gart::DType dtype, const std::vector<int64_t>& shape)>;

/// All throw Error with one sentence naming the file and what is wrong.
/// `check` sees each array before its elements are read, and may throw Error.
NamedTensors read_npz(const std::string& path, const ArrayCheck& check = {});
HostTensor read_npy(const std::string& path);
HostTensor read_pb(const std::string& path);
void write_npz(const std::string& path, const std::map<std::string, gart::TensorView>& tensors);

/// Floats about standard normal; integers in [0, 2); the same seed and name give the same numbers.
HostTensor random_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace gcg::tools
