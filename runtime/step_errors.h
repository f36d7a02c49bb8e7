// What a step that fails says, on every device in the same words.
#pragma once

#include <string_view>

#include "artifact_schema/spans.h"
#include "gart/result.h"

namespace gart {

/// The step's kernel returned or reported `code`, one of kernel_abi.h.
Error kernel_error(const fb::Step& step, uint32_t code);
/// A `fail` step was reached; where it has parameters, these are two and differ.
Error fail_error(const fb::Step& step, const int64_t* params);

}  // namespace gart
