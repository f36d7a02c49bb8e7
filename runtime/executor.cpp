#include "runtime/executor.h"

#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart {
namespace {

/// Limit of loop iterations, so that a forged file cannot run forever. An empty loop takes a second for this number,
/// the loops of models take hours.
constexpr int64_t kMaxIterations = int64_t{1} << 28;

}  // namespace

void Executor::run() {
  if (!lane_.start(run_)) sequence(plan_.entry_sequence());
}

void Executor::sequence(uint32_t index) {
  for (const Segment& segment : plan_.sequence(index)) {
    if (segment.decides) {
      decide(segment.begin);
    } else {
      lane_.enqueue(run_, segment);
    }
    if (run_.bound.is_cancelled()) fail(ErrorCode::cancelled, "the run was cancelled");
  }
}

void Executor::decide(uint32_t index) {
  const PlanStep& step = plan_.steps[index];
  switch (step.kind) {
    case fb::StepKind::branch:
      return branch(step);
    case fb::StepKind::loop:
      return loop(step);
    case fb::StepKind::bind:
      return bind(step);
    default:
      return fail_step(step, run_.bound.step(index).params);
  }
}

void Executor::check_size(uint32_t buffer, int64_t bytes) const {
  const int64_t has = run_.bound.bytes(buffer);
  if (has >= bytes) return;
  fail(ErrorCode::invalid_artifact, "buffer ", buffer, " has ", has, " bytes, but a step uses it for a value of ",
       bytes);
}

template <class T>
T Executor::scalar(uint32_t buffer) {
  check_size(buffer, sizeof(T));
  T value;
  lane_.read(run_, buffer, &value, sizeof value);
  return value;
}

void Executor::branch(const PlanStep& step) {
  const bool taken = scalar<uint8_t>(plan_.operands[step.first_operand]) != 0;
  sequence(step.manifest->bodies()->Get(taken ? 0 : 1));
}

void Executor::loop(const PlanStep& step) {
  const fb::Loop& loop = *step.manifest->loop();
  const int64_t trips = loop.trip_count() < 0 ? INT64_MAX : scalar<int64_t>(uint32_t(loop.trip_count()));
  for (int64_t i = 0; i < trips; ++i) {
    if (i == kMaxIterations) fail(ErrorCode::run_failed, "a loop has not ended after ", i, " iterations");
    if (loop.condition() >= 0 && scalar<uint8_t>(uint32_t(loop.condition())) == 0) break;
    if (loop.iteration() >= 0) write_iteration(uint32_t(loop.iteration()), i);
    sequence(step.manifest->bodies()->Get(0));
    carry(loop);
  }
}

/// Uses two fills, because a fill takes its value as an argument. A copy would need host memory that stays unchanged
/// until the device has run the copy.
void Executor::write_iteration(uint32_t buffer, int64_t value) {
  check_size(buffer, sizeof value);
  auto* words = static_cast<uint32_t*>(run_.bound.address(buffer));
  lane_.fill(run_, words, static_cast<uint32_t>(value));
  if (value > 0 && (value & UINT32_MAX) != 0) return;
  lane_.fill(run_, words + 1, static_cast<uint32_t>(value >> 32));
}

void Executor::carry(const fb::Loop& loop) {
  const auto from = span_of(loop.carried_from()), to = span_of(loop.carried_to());
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t bytes = run_.bound.bytes(from[i]);
    if (bytes != run_.bound.bytes(to[i])) {
      fail(ErrorCode::run_failed, "a loop carries ", bytes, " bytes into a buffer of ", run_.bound.bytes(to[i]));
    }
    const void* source = run_.bound.address(from[i]);
    void* destination = run_.bound.address(to[i]);
    if (bytes > 0 && source != destination) lane_.copy(run_, destination, source, static_cast<size_t>(bytes));
  }
}

void Executor::bind(const PlanStep& step) {
  const int64_t value = scalar<int64_t>(plan_.operands[step.first_operand]);
  run_.bound.bind_symbol(plan_.params[step.first_param], value, run_.outputs);
}

void Executor::fail_step(const PlanStep& step, const int64_t* params) {
  if (step.params != 0 && params[0] == params[1]) return;
  lane_.wait(run_);  // an error of an earlier step takes precedence
  throw Failure{fail_error(*step.manifest, params)};
}

}  // namespace gart
