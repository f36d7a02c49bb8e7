// The features of this CPU, as bits of artifact_schema/cpu_features.h.
#pragma once

#include <cstdint>
#include <string>

namespace gart {

uint64_t cpu_features();

/// True if the operating system lets this process use kCpuAmx. Asks the system only once, because afterwards Linux
/// keeps 8 KB more of state for each thread that uses tiles, and requires signal stacks with room for it. The answer
/// holds for all threads, including later ones, and for child processes.
bool may_use_tiles();

/// True if VDPBF16PS takes longer than the f32 FMAs that do the same work. On Granite Rapids it takes four times as
/// long as one FMA and does the work of two.
bool multiplies_pairs_slowly();

/// "x86-64-v3, x86-64-v4"
std::string cpu_feature_names(uint64_t features);

}  // namespace gart
