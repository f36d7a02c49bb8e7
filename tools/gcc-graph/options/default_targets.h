// What `compile` makes code for, beside CPUs, when nobody says.
#pragma once

#include <string>
#include <vector>

namespace gcg::tools {

struct DefaultTargets {
  std::vector<std::string> gpus;     // "sm_90a:12.8"
  std::vector<std::string> remarks;  // sentences: GPUs that there is no code for, and why
};

/// Each architecture of the GPUs that this machine's driver finds, for that driver.
DefaultTargets default_targets();

}  // namespace gcg::tools
