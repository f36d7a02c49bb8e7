// Which of an artifact's targets to run.
#pragma once

#include <cstdint>
#include <string>

#include "artifact_schema/spans.h"
#include "gart/gart.hpp"

namespace gart {

/// Is the entry point to be loaded?
bool is_wanted(const fb::EntryPoint& entry, const LoadOptions& options);

/// Every entry point that is to be loaded has a plan for it.
bool has_plans(const fb::Manifest& manifest, uint32_t target, const LoadOptions& options);

/// Is there a target of that name, for GPUs?
bool is_cuda_target(const fb::Manifest& manifest, const std::string& name);

/// The names of the targets, or of those that are for GPUs (or not).
enum class TargetsOf : uint8_t { all, cpu, cuda };
std::string target_list(const fb::Manifest& manifest, TargetsOf which = TargetsOf::all);

/// The CPU target that options.target names, or with "" the one with the most features among those that this CPU runs.
uint32_t choose_cpu_target(const fb::Manifest& manifest, const LoadOptions& options);

}  // namespace gart
