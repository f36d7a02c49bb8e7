// --parallel intra=2,inter=1,replicas=1
#pragma once

#include <string>

#include "gart/gart.hpp"

namespace gcg::tools {

/// Missing fields are 0, which means the file's choice. Throws Error for any other text.
gart::Parallel parse_parallel(const std::string& text);

}  // namespace gcg::tools
