// One plan, with its code for one target, as manifest tables.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "artifact_schema/writer.h"
#include "compiler/emit_artifact.h"
#include "compiler/weights_section.h"

namespace gcg {

/// The host kernels of a GPU's plan for one CPU.
struct HostPlanCode {
  size_t target;                         // its number in the manifest
  const TargetCode& code;
  const std::vector<size_t>& kernel_of;  // host kernel k of the plan is this one of the code's blob
};

/// A plan and its kernels for one target.
struct PlanCode {
  const ShapePlan& plan;
  size_t target;                         // its number in the manifest
  const TargetCode& code;
  const std::vector<size_t>& kernel_of;  // kernel k of the plan is this one of the code's blob
  std::function<uint32_t(const LibraryCall&)> library_number;  // in the manifest
  std::vector<HostPlanCode> hosts;
};

/// `symbols`: of the entry point. Constants that are not prepared at load go to `weights`.
std::unique_ptr<gart::fb::PlanT> emit_plan(const PlanCode& code, const std::vector<std::string>& symbols,
                                           const PreparedWeights& prepared, WeightsSection& weights);

}  // namespace gcg
