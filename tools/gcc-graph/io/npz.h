// NumPy's archives of arrays.
#pragma once

#include <map>
#include <string>

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

using NamedTensors = std::map<std::string, HostTensor>;

/// Both throw Error with one sentence naming the file and what is wrong.
NamedTensors read_npz(const std::string& path);
void write_npz(const std::string& path, const std::map<std::string, gart::TensorView>& tensors);

}  // namespace gcg::tools
