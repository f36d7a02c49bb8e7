// Reads tensors from files: .npz and .npy (NumPy), .pb (ONNX TensorProto). Also makes seeded noise.
#pragma once

#include <string>
#include <vector>

#include "tools/gcc-graph/io/npz.h"

namespace gcg::tools {

/// Both throw Error with one sentence that names the file and the fault.
HostTensor read_npy(const std::string& path);
HostTensor read_pb(const std::string& path);

/// Floats are about standard normal; integers are in [0, 2); strings are those that the input knows, and one that it
/// does not know. The same seed and name give the same elements.
HostTensor random_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace gcg::tools
