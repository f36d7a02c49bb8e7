// The error messages of failing steps, with the same words on every device.
#pragma once

#include <functional>
#include <string>

#include "gart/result.h"
#include "runtime/bound_plan.h"

namespace gart {

/// The return value recorded for an application's function that threw an exception.
inline constexpr int32_t kThrown = -0x7F0DE;

/// "step 'Conv_1'", or "one of the steps 'Conv_1' to 'Gemm_9'".
std::string steps_text(const Plan& plan, uint32_t begin, uint32_t end);

/// A buffer's bytes, for the host to read. Null if they may have changed since the step read them.
using HostData = std::function<const void*(uint32_t buffer)>;
/// The error of step `index`, whose kernel returned or reported `code` (kernel_abi.h).
Error kernel_error(const BoundPlan& bound, uint32_t index, uint32_t code, const HostData& data);
/// The error of a `fail` step that was reached. `params`: the two unequal values that the step compares; a step without
/// parameters fails always.
Error fail_error(const fb::Step& step, const int64_t* params);

}  // namespace gart
