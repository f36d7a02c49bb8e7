// Finds fused kernels that do many times the work of their nodes one by one.
#pragma once

#include <vector>

#include "compiler/fusion/fuse.h"
#include "compiler/report/remark.h"

namespace gcg {

/// The loop kernels whose work (see loop_work) is at least kRepeatedWork times the work of their nodes in separate
/// kernels. Such a kernel computes a value again for every element. Small kernels are left out.
std::vector<RepeatedWork> repeated_work(const Graph& graph, const Fusion& fusion);

/// The same for the graph as it is fused for the device, and for its subgraphs.
std::vector<RepeatedWork> repeated_work(const Graph& graph, DeviceClass device);

constexpr double kRepeatedWork = 4;

}  // namespace gcg
