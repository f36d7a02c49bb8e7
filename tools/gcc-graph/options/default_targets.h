// What `compile` makes code for when nobody says.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg::tools {

struct DefaultTargets {
  std::vector<std::string> names;    // "x86-64-v3", "sm_90a:12.8"
  std::vector<std::string> remarks;  // sentences: GPUs that there is no code for, and why
};

/// CPUs, and each architecture of the GPUs that this machine's driver finds, for that driver.
DefaultTargets default_targets();

/// Where the model computes with 8-bit integers, also the CPUs that have instructions for that.
void add_cpus_for_bytes(const Graph& graph, std::vector<std::string>& targets);

}  // namespace gcg::tools
