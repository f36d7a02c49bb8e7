// Where NVRTC libraries lie.
#pragma once

#include <string>
#include <vector>

namespace gcg::cuda {

/// What dlopen may be given, in the order of preference among equal versions; files that exist, and two names for the
/// loader's own path.
std::vector<std::string> nvrtc_candidates();

}  // namespace gcg::cuda
