// What the user should know about a plan for a GPU: where the run leaves the GPU, and what that costs.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

/// A sentence per step that the CPU runs, with its ONNX nodes and its estimated cost, and per extent that depends on
/// data.
std::vector<std::string> plan_remarks(const Plan& plan);

/// Adds them with the devices and shapes that they are about.
void add_remarks(std::vector<std::string>& all, DeviceClass device, const SymbolValues& fixed,
                 const std::vector<std::string>& sentences);

}  // namespace gcg
