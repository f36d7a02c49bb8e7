// What a step that fails says, on every device in the same words.
#pragma once

#include <string>

#include "gart/result.h"
#include "runtime/plan.h"

namespace gart {

/// "step 'Conv_1'", or "one of the steps 'Conv_1' to 'Gemm_9'".
std::string steps_text(const Plan& plan, uint32_t begin, uint32_t end);

/// The step's kernel returned or reported `code`, one of kernel_abi.h.
Error kernel_error(const fb::Step& step, uint32_t code);
/// A `fail` step was reached; where it has parameters, these are two and differ.
Error fail_error(const fb::Step& step, const int64_t* params);

}  // namespace gart
