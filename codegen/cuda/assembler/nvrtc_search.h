// Where NVRTC libraries lie.
#pragma once

#include <string>
#include <vector>

namespace gcg::cuda {

/// What dlopen may be given, in the order of preference among equal versions; files that exist, and two names for the
/// loader's own path.
std::vector<std::string> nvrtc_candidates();

/// The line for a shell that installs such a package where nvrtc_candidates() finds it: in the virtual environment that
/// is active, otherwise in a new one in this folder, since systems keep pip from changing their own Python.
std::string install_line(const std::string& package);

}  // namespace gcg::cuda
