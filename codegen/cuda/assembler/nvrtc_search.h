// Finds the NVRTC libraries of this machine.
#pragma once

#include <string>
#include <vector>

namespace gcg::cuda {

/// The candidates to pass to dlopen: existing files, and two names for the loader's own path. Among equal versions the
/// earlier candidate is preferred.
std::vector<std::string> nvrtc_candidates();

/// The shell command that installs `package` where nvrtc_candidates() finds it: in the active virtual environment,
/// otherwise in a new one in the current folder. Many operating systems do not let pip change their own Python.
std::string install_line(const std::string& package);

}  // namespace gcg::cuda
