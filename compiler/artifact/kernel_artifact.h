// Makes an artifact of one kernel or one library call, to run it and to measure it.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/kernel/backend.h"
#include "compiler/kernel/library_call.h"

namespace gcg {

/// Requires: extents without symbols. The entry point "main" has an input for each operand that the kernel reads and an
/// output for each that it writes, named "operand0" and so on. It launches the kernel `launches` times, one after the
/// other. `blob`: the code that the target's backend made from this kernel alone.
std::vector<uint8_t> kernel_artifact(const Kernel& kernel, const Target& target, CompiledBlob blob, int launches);

/// The same for a library call, with an input or output for each of its tensors. The target's decisions may give the
/// algorithm.
std::vector<uint8_t> call_artifact(const LibraryCall& call, const Target& target, int launches);

}  // namespace gcg
