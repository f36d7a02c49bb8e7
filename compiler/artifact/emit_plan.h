// Writes one plan as manifest tables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "artifact_schema/writer.h"
#include "compiler/artifact/emit_step.h"
#include "compiler/plan/plan.h"
#include "compiler/weights/weights_section.h"

namespace gcg {

/// `symbols`: the entry point's symbols. The plan's constants must have places in `weights`. This function decides
/// nothing: every step, buffer and kernel of the plan becomes a table. A library call becomes a step, and so does each
/// launch that replaces the call where the library is missing.
std::unique_ptr<gart::fb::PlanT> emit_plan(const Plan& plan, const Target& target,
                                           const std::vector<std::string>& symbols, const WeightsSection& weights,
                                           const LibraryNumber& library_number);

}  // namespace gcg
