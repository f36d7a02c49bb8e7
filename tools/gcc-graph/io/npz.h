// NumPy's archives of arrays.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

using NamedTensors = std::map<std::string, HostTensor>;

/// Checks an array by name, type and shape; may throw Error.
using ArrayCheck = std::function<void(const std::string& name, gart::DType dtype, const std::vector<int64_t>& shape)>;

/// Both functions throw Error with one sentence that names the file and the fault. `check` sees each array before its
/// elements are read.
NamedTensors read_npz(const std::string& path, const ArrayCheck& check = {});
void write_npz(const std::string& path, const std::map<std::string, gart::TensorView>& tensors);

}  // namespace gcg::tools
