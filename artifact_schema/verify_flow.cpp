// Checks that run-bound slots have a value where they are used: walks through the steps in run order and tracks which
// symbols are bound.
#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

// The largest number of visited slots; a file that needs more is refused.
constexpr uint64_t kWorkLimit = uint64_t{1} << 30;

class FlowCheck {
 public:
  explicit FlowCheck(const PlanCheck& check) : check_(check), bound_(check.symbols) {
    for (uint32_t i = 0; i < check.symbols; ++i) bound_[i] = check.input_bound[i];
  }

  Status run() {
    if (Status status = update(); !status.ok()) return status;
    const uint32_t entry = check_.plan.sequences()->size() - 1;
    if (Status status = sequence(entry); !status.ok()) return status;
    return at_end();
  }

 private:
  Status sequence(uint32_t index) {
    const auto* steps = check_.plan.sequences()->Get(index)->steps();
    for (uint32_t s = 0; s < count_of(steps); ++s) {
      if (Status status = step(*steps->Get(s)); !status.ok()) {
        return within(
            status, text("sequence ", index, ", step ", s, " (", view_of(steps->Get(s)->source()).substr(0, 80), ")"));
      }
    }
    return {};
  }

  Status step(const fb::Step& step) {
    for (const uint32_t buffer : span_of(step.operands())) {
      if (Status status = need_buffer(buffer); !status.ok()) return status;
    }
    switch (step.kind()) {
      case fb::StepKind::launch:
        return launch(step);
      case fb::StepKind::copy:
      case fb::StepKind::fill:
        return need_slot(step.tasks(), "tasks");
      case fb::StepKind::branch:
        return branch(step);
      case fb::StepKind::loop:
        return loop(step);
      case fb::StepKind::bind:
        bound_[step.params()->Get(0)] = 1;
        return update();
      case fb::StepKind::fail:
      case fb::StepKind::call:
        return need_params(step);
    }
    return {};
  }

  Status need_params(const fb::Step& step) {
    for (const uint32_t slot : span_of(step.params())) {
      if (Status status = need_slot(slot, "param"); !status.ok()) return status;
    }
    return {};
  }

  Status launch(const fb::Step& step) {
    if (Status status = need_params(step); !status.ok()) return status;
    if (Status status = need_slot(step.tasks(), "tasks"); !status.ok()) return status;
    return need_slot(check_.plan.kernels()->Get(step.kernel())->scratch(), "scratch");
  }

  /// After the branch, a symbol is bound if both bodies bind it.
  Status branch(const fb::Step& step) {
    const std::vector<uint8_t> before = bound_;
    if (Status status = sequence(step.bodies()->Get(0)); !status.ok()) return status;
    std::vector<uint8_t> after_first = std::move(bound_);
    bound_ = before;
    if (Status status = update(); !status.ok()) return status;
    if (Status status = sequence(step.bodies()->Get(1)); !status.ok()) return status;
    for (uint32_t i = 0; i < bound_.size(); ++i) bound_[i] &= after_first[i];
    return update();
  }

  /// The body may run zero times, so it binds nothing for the steps after it.
  Status loop(const fb::Step& step) {
    const fb::Loop& loop = *step.loop();
    for (const int32_t buffer : {loop.trip_count(), loop.condition(), loop.iteration()}) {
      if (buffer < 0) continue;
      if (Status status = need_buffer(buffer); !status.ok()) return status;
    }
    for (const uint32_t buffer : span_of(loop.carried_to())) {
      if (Status status = need_buffer(buffer); !status.ok()) return status;
    }
    const std::vector<uint8_t> before = bound_;
    if (Status status = sequence(step.bodies()->Get(0)); !status.ok()) return status;
    for (const uint32_t buffer : span_of(loop.carried_from())) {
      if (Status status = need_buffer(buffer); !status.ok()) return status;
    }
    bound_ = before;
    return update();
  }

  /// Outputs and their extents must exist when the run ends.
  Status at_end() {
    const ShapeProgram program = span_of(check_.entry.program());
    const std::vector<uint8_t> known = reachable_slots(program, bound_);
    for (uint32_t i = 0; i < count_of(check_.entry.outputs()); ++i) {
      for (const uint32_t slot : span_of(check_.entry.outputs()->Get(i)->dims())) {
        if (!known[slot])
          return failure("an extent of output ", i,
                         " depends on a symbol that is not bound on every path through the steps");
      }
    }
    for (uint32_t i = 0; i < count_of(check_.plan.buffers()); ++i) {
      if (check_.buffer(i).kind() != fb::BufferKind::output) continue;
      if (Status status = need_buffer(i); !status.ok()) return status;
    }
    return {};
  }

  Status update() {
    work_ += check_.slots() + 1;
    if (work_ > kWorkLimit)
      return failure("it has too many bind, branch and loop steps for a program of ", check_.slots(), " slots");
    known_ = reachable_slots(check_.program, bound_);
    return {};
  }

  Status need_slot(size_t slot, const char* what) const {
    return known_[slot] ? Status{} : failure(what, ": slot ", slot, " depends on a symbol that is not bound yet");
  }

  Status need_buffer(uint32_t index) const {
    const fb::Buffer& buffer = check_.buffer(index);
    if (check_.input_bound_buffer[index]) return {};
    const bool view = buffer.alias_of() >= 0;
    if (known_[buffer.size()] &&
        (!view || (known_[buffer.alias_offset()] && known_[check_.buffer(buffer.alias_of()).size()]))) {
      return {};
    }
    return failure("the size or place of buffer ", index, " depends on a symbol that is not bound yet");
  }

  const PlanCheck& check_;
  std::vector<uint8_t> bound_;  // per symbol
  std::vector<uint8_t> known_;  // per slot
  uint64_t work_ = 0;
};

}  // namespace

Status check_bind_order(const PlanCheck& check) { return FlowCheck(check).run(); }

}  // namespace gart::verify
