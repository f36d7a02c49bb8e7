// One plan as manifest tables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "artifact_schema/writer.h"
#include "compiler/artifact/emit_step.h"
#include "compiler/plan/plan.h"
#include "compiler/weights/weights_section.h"

namespace gcg {

/// `symbols`: of the entry point. The plan's constants have places in `weights`. Nothing is decided here: every step,
/// buffer and kernel of the plan becomes a table; a call and the launches that do the same without the library become a
/// step each.
std::unique_ptr<gart::fb::PlanT> emit_plan(const Plan& plan, const Target& target,
                                           const std::vector<std::string>& symbols, const WeightsSection& weights,
                                           const LibraryNumber& library_number);

}  // namespace gcg
