// What this CPU offers, in the terms of artifact_schema/cpu_features.h.
#pragma once

#include <cstdint>
#include <string>

namespace gart {

uint64_t cpu_features();

/// Does the system let this process use kCpuAmx? Asked once, for Linux then keeps 8 KB more of state for each thread
/// that uses tiles, and wants signal stacks to have room for it. The answer holds for all threads, also later ones, and
/// for child processes.
bool may_use_tiles();

/// Does VDPBF16PS take longer than the multiply-adds of f32 that do its work? Granite Rapids: four times one of them,
/// of which it does two.
bool multiplies_pairs_slowly();

/// "x86-64-v3, x86-64-v4"
std::string cpu_feature_names(uint64_t features);

}  // namespace gart
