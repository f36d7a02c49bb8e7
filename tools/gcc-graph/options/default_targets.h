// The GPU targets that `compile` uses by default, in addition to the CPU targets.
#pragma once

#include <string>
#include <vector>

namespace gcg::tools {

struct DefaultTargets {
  std::vector<std::string> gpus;     // "sm_90a:12.8"
  std::vector<std::string> remarks;  // remarks: GPUs without a target, and why
};

/// One target per architecture of this machine's GPUs, for the version of their driver.
DefaultTargets default_targets();

}  // namespace gcg::tools
