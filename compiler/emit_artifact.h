// The last stage: plans and machine code as artifact bytes.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/schedule/schedule.h"

namespace gcg {

/// One shape set of the entry point for one class of devices: its schedule, and the symbols it fixes.
struct ShapePlan {
  DeviceClass device;
  SymbolValues fixed;
  Schedule schedule;
};

/// The kernels of all shape sets of the target's device class, distinct, compiled for it.
struct TargetCode {
  Target target;
  CompiledBlob blob;
  /// kernel_of[p][k]: which kernel of the blob is kernel k of shape plan p; empty where p is for another device class.
  std::vector<std::vector<size_t>> kernel_of;
};

struct Provenance {
  std::string compiler, source_hash, options, model;
};

/// `graph` is the imported one: its inputs, outputs and constraints become the entry point.
std::vector<uint8_t> emit_artifact(const Graph& graph, const std::vector<ShapePlan>& plans, const std::vector<TargetCode>& targets,
                                   const Provenance& provenance);

}  // namespace gcg
