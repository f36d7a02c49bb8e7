#include "runtime/step_errors.h"

#include "artifact_schema/kernel_abi.h"
#include "runtime/errors.h"

namespace gart {
namespace {

Error step_error(const fb::Step& step, std::string_view what) {
  const std::string_view source = view_of(step.source());
  if (source.empty()) return error(ErrorCode::run_failed, "a step failed: ", what);
  return error(ErrorCode::run_failed, "step '", source, "' failed: ", what);
}

}  // namespace

std::string steps_text(const Plan& plan, uint32_t begin, uint32_t end) {
  if (begin >= end) return "a copy of the model's inputs or outputs";
  const auto name = [&](uint32_t step) { return view_of(plan.steps[step].manifest->source()); };
  if (begin + 1 == end) return text("step '", name(begin), "'");
  uint32_t alike = begin + 1;
  while (alike < end && name(alike) == name(begin)) ++alike;
  if (alike == end) return text("one of the ", end - begin, " steps of '", name(begin), "'");
  return text("one of the ", end - begin, " steps '", name(begin), "' to '", name(end - 1), "'");
}

Error kernel_error(const fb::Step& step, uint32_t code) {
  if (code == GART_KERNEL_INDEX_OUT_OF_RANGE) {
    const std::string_view ranges = view_of(step.message());
    return step_error(step, text("an index is out of range", ranges.empty() ? "" : ": it must be in ", ranges));
  }
  return step_error(step, text("its function returned ", 0 - code));
}

Error fail_error(const fb::Step& step, const int64_t* params) {
  const std::string_view message = view_of(step.message());
  if (count_of(step.params()) == 0) return step_error(step, message);
  return error(ErrorCode::run_failed, "the inputs' extents do not fit: ", message, ": ", params[0], " must equal ",
               params[1]);
}

}  // namespace gart
