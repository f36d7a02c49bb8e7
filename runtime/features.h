// What this CPU offers, in the terms of artifact_schema/cpu_features.h.
#pragma once

#include <cstdint>
#include <string>

namespace gart {

uint64_t cpu_features();

/// "x86-64-v3, x86-64-v4"
std::string cpu_feature_names(uint64_t features);

}  // namespace gart
