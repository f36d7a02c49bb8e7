// Tensors from files: .npz and .npy (NumPy), .pb (ONNX TensorProto), and seeded noise.
#pragma once

#include <string>
#include <vector>

#include "tools/gcc-graph/io/npz.h"

namespace gcg::tools {

/// Both throw Error with one sentence naming the file and what is wrong.
HostTensor read_npy(const std::string& path);
HostTensor read_pb(const std::string& path);

/// Floats about standard normal; integers in [0, 2); the same seed and name give the same numbers.
HostTensor random_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace gcg::tools
