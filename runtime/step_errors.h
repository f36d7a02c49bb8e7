// What a step that fails says, on every device in the same words.
#pragma once

#include <functional>
#include <string>

#include "gart/result.h"
#include "runtime/bound_plan.h"

namespace gart {

/// "step 'Conv_1'", or "one of the steps 'Conv_1' to 'Gemm_9'".
std::string steps_text(const Plan& plan, uint32_t begin, uint32_t end);

/// A buffer's bytes for the host to look at; null: they may no longer be what the step read.
using HostData = std::function<const void*(uint32_t buffer)>;
/// The kernel of step `index` returned or reported `code`, one of kernel_abi.h.
Error kernel_error(const BoundPlan& bound, uint32_t index, uint32_t code, const HostData& data);
/// A `fail` step was reached; where it has parameters, these are two and differ.
Error fail_error(const fb::Step& step, const int64_t* params);

}  // namespace gart
