// Chooses the target of an artifact to run.
#pragma once

#include <cstdint>
#include <string>

#include "artifact_schema/spans.h"
#include "gart/gart.hpp"

namespace gart {

/// True if the entry point will be loaded.
bool is_wanted(const fb::EntryPoint& entry, const LoadOptions& options);

/// True if every entry point that is to be loaded has a plan for the target.
bool has_plans(const fb::Manifest& manifest, uint32_t target, const LoadOptions& options);

/// True if a GPU target of that name exists.
bool is_cuda_target(const fb::Manifest& manifest, const std::string& name);

/// The names of all targets, of the CPU targets, or of the GPU targets.
enum class TargetsOf : uint8_t { all, cpu, cuda };
std::string target_list(const fb::Manifest& manifest, TargetsOf which = TargetsOf::all);

/// The CPU target that options.target names. If it is "": among the targets that this CPU runs, the one with the most
/// features.
uint32_t choose_cpu_target(const fb::Manifest& manifest, const LoadOptions& options);

}  // namespace gart
