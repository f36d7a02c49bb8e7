// Writes the fleet plan as a section of the file: the model's parts, how they form the model, and where they run
// (artifact_schema/assembly.fbs).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/partition/assembly.h"

namespace gcg {

/// The devices of groups and the predicted times, in microseconds.
struct AssemblyPlacement {
  std::vector<int> device;                     // per group: a device of its support
  std::vector<std::vector<double>> operation;  // per group, per device of its support
  std::vector<int64_t> peak_bytes;             // per group: the largest arena of its parts; 0: not known
  std::vector<int64_t> weight_bytes;           // per group
  std::vector<double> begin, end;              // per call
  SymbolValues typical;                        // the extents that operation times hold for, where fixed
  double makespan = 0;
};

/// The first `model_outputs` outputs of the assembly's graph are the model's outputs; the others are kept values.
std::vector<uint8_t> emit_assembly(const Assembly& assembly, size_t model_outputs, const Fleet& fleet,
                                   const AssemblyPlacement& placement);

}  // namespace gcg
