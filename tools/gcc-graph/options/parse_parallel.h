// --parallel intra=2,inter=1,replicas=1
#pragma once

#include <string>

#include "gart/gart.hpp"

namespace gcg::tools {

/// What is left out is 0: the file's choice. Throws Error on anything else.
gart::Parallel parse_parallel(const std::string& text);

}  // namespace gcg::tools
