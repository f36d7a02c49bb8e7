// Where a fused kernel does many times what its nodes would do one by one.
#pragma once

#include <vector>

#include "compiler/fusion/fuse.h"
#include "compiler/report/remark.h"

namespace gcg {

/// The loop kernels whose work (see loop_work) exceeds that of its nodes, each with a kernel of its own, by
/// kRepeatedWork: something is computed again for every element. Small kernels are left out.
std::vector<RepeatedWork> repeated_work(const Graph& graph, const Fusion& fusion);

/// Of the graph as it is fused for the device, and of the bodies in it.
std::vector<RepeatedWork> repeated_work(const Graph& graph, DeviceClass device);

constexpr double kRepeatedWork = 4;

}  // namespace gcg
