#include "runtime/step_errors.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/kernel_abi.h"
#include "runtime/errors.h"

namespace gart {
namespace {

Error step_error(const fb::Step& step, std::string_view what) {
  const std::string_view source = view_of(step.source());
  if (source.empty()) return error(ErrorCode::run_failed, "a step failed: ", what);
  return error(ErrorCode::run_failed, "step '", source, "' failed: ", what);
}

/// Element `i` of little-endian integers. Unsigned values beyond INT64_MAX are clamped to it, which is beyond every
/// limit, too.
int64_t element(const void* data, DType dtype, size_t bytes, uint64_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const uint8_t*>(data) + i * bytes, bytes);
  const auto above = 64 - 8 * static_cast<int>(bytes);
  if (dtype >= DType::i8 && dtype <= DType::i64) return static_cast<int64_t>(bits << above) >> above;
  return static_cast<int64_t>(std::min<uint64_t>(bits, INT64_MAX));
}

/// True if the step does not write to the memory of operand `position`.
bool is_untouched(const BoundPlan& bound, const PlanStep& step, uint32_t position) {
  const uint32_t* operands = bound.plan().operands.data() + step.first_operand;
  const auto begin_of = [&](uint32_t i) { return static_cast<const uint8_t*>(bound.address(operands[i])); };
  for (uint32_t i = 0; i < step.operands; ++i) {
    if (writes_operand(step, i) && begin_of(i) < begin_of(position) + bound.bytes(operands[position]) &&
        begin_of(position) < begin_of(i) + bound.bytes(operands[i]))
      return false;
  }
  return true;
}

/// "index 7, element 3 of the indices, is out of range: it must be in [-5, 5)". Empty if no wrong index is found.
std::string wrong_index(const BoundPlan& bound, const PlanStep& step, const fb::IndexCheck& check,
                        const HostData& data) {
  const uint32_t buffer = bound.plan().operands[step.first_operand + check.operand()];
  const auto dtype = static_cast<DType>(check.dtype());
  const size_t bytes = size_of(dtype);
  const void* indices = bytes != 0 && is_untouched(bound, step, check.operand()) ? data(buffer) : nullptr;
  if (indices == nullptr) return {};
  const auto count = static_cast<uint64_t>(bound.bytes(buffer)) / bytes;
  const int64_t limit = bound.slot(check.limit()), least = check.from_end() ? -limit : 0;
  for (uint64_t i = check.first(); i < count; i += check.step()) {
    const int64_t value = element(indices, dtype, bytes, i);
    if (value >= least && value < limit) continue;
    return text("index ", value, ", element ", i, " of the indices, is out of range: it must be in [", least, ", ",
                limit, ")");
  }
  return {};
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

/// The value that the application's function returned, recovered from the error code into which gart_kernel converted
/// it.
int32_t returned(uint32_t code) {
  const bool was_positive = int32_t(code) < 0 && code != uint32_t(INT32_MIN);
  return int32_t(was_positive ? 0 - code : 1 - code);
}

Error kernel_error(const BoundPlan& bound, uint32_t index, uint32_t code, const HostData& data) {
  const PlanStep& plan_step = bound.plan().steps[index];
  const fb::Step& step = *plan_step.manifest;
  if (code == GART_KERNEL_INDEX_OUT_OF_RANGE) {
    for (uint32_t i = 0; i < count_of(step.indices()); ++i) {
      const std::string found = wrong_index(bound, plan_step, *step.indices()->Get(i), data);
      if (!found.empty()) return step_error(step, found);
    }
    const std::string_view ranges = view_of(step.message());
    return step_error(step, text("an index is out of range", ranges.empty() ? "" : ": it must be in ", ranges));
  }
  const int32_t value = returned(code);
  if (value == kThrown) return step_error(step, "its function threw an exception");
  return step_error(step, text("its function returned ", value));
}

Error fail_error(const fb::Step& step, const int64_t* params) {
  const std::string_view message = view_of(step.message());
  if (count_of(step.params()) == 0) return step_error(step, message);
  return error(ErrorCode::run_failed, "the inputs' extents do not fit: ", message, ": ", params[0], " must equal ",
               params[1]);
}

}  // namespace gart
