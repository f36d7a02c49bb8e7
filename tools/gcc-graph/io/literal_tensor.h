// An input given as a number on the command line: --input sr=16000.
#pragma once

#include <string>
#include <vector>

#include "tools/gcc-graph/io/tensor_io.h"

namespace gcg::tools {

/// Every element of the shape becomes the number in `text` ("16000", "-0.5", "1e3", "true"), in the input's type, or
/// the text itself if the input has strings. Throws Error if the text is not a number of that type.
HostTensor literal_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, const std::string& text);

}  // namespace gcg::tools
