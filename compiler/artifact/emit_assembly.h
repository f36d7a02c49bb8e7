// A model's parts, how they make it, and where they run, as a section of the file (artifact_schema/assembly.fbs).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/partition/assembly.h"

namespace gcg {

/// Where groups run and how long that is thought to take. Times are microseconds.
struct AssemblyPlacement {
  std::vector<int> device;                     // per group: of its support
  std::vector<std::vector<double>> operation;  // per group, per device of its support
  std::vector<int64_t> peak_bytes;             // per group: of the largest arena of its parts; 0: not known
  std::vector<int64_t> weight_bytes;           // per group
  std::vector<double> begin, end;              // per call
  SymbolValues typical;                        // extents that operation times are for, as far as they are fixed
  double makespan = 0;
};

/// The first `model_outputs` outputs of the assembly's graph are the model's, the others are kept values.
std::vector<uint8_t> emit_assembly(const Assembly& assembly, size_t model_outputs, const Fleet& fleet,
                                   const AssemblyPlacement& placement);

}  // namespace gcg
