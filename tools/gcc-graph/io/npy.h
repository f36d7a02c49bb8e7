// NumPy's .npy form of one array, versions 1 to 3.
#pragma once

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

/// Of either byte order, by rows or by columns. Throws Error with one sentence; `where` names the array.
HostTensor parse_npy(const std::vector<uint8_t>& data, const std::string& where);
/// What stands before the elements, row by row, of such a tensor.
std::string npy_header(const gart::TensorView& t);

}  // namespace gcg::tools
