#include "runtime/live_bytes.h"

#include <algorithm>
#include <vector>

#include "artifact_schema/container.h"
#include "runtime/bound_plan.h"

namespace gart {
namespace {

constexpr size_t kUnused = SIZE_MAX;

struct Life {
  size_t first = kUnused, last = 0;
};

/// The first and last step that use each buffer, in run order; each body is visited once.
class Lives {
 public:
  explicit Lives(const Plan& plan) : plan_(plan), lives_(plan.manifest->buffers()->size()) {
    sequence(plan.entry_sequence());
  }
  const std::vector<Life>& of_buffers() const { return lives_; }
  size_t steps() const { return now_; }

 private:
  void sequence(uint32_t index) {
    for (uint32_t s = plan_.sequence_begin[index]; s < plan_.sequence_begin[index + 1]; ++s, ++now_) {
      const PlanStep& step = plan_.steps[s];
      for (uint32_t o = 0; o < step.operands; ++o) use(plan_.base_of(plan_.operands[step.first_operand + o]));
      if (const auto* bodies = step.manifest->bodies())
        for (const uint32_t body : *bodies) sequence(body);
    }
  }
  void use(uint32_t buffer) {
    Life& life = lives_[buffer];
    life.first = std::min(life.first, now_);
    life.last = now_;
  }

  const Plan& plan_;
  std::vector<Life> lives_;
  size_t now_ = 0;
};

}  // namespace

int64_t most_live_bytes(const BoundPlan& bound) {
  const Lives lives(bound.plan());
  std::vector<int64_t> change(lives.steps() + 1);
  for (uint32_t b = 0; b < lives.of_buffers().size(); ++b) {
    const Life& life = lives.of_buffers()[b];
    const bool in_arena =
        bound.plan().buffer(b).kind() == fb::BufferKind::temporary && bound.plan().input_bound_buffer[b] != 0;
    if (!in_arena || life.first == kUnused) continue;
    const auto bytes = static_cast<int64_t>(align_up(static_cast<size_t>(bound.bytes(b)), kAlignment));
    change[life.first] += bytes;
    change[life.last + 1] -= bytes;
  }
  int64_t live = 0, most = 0;
  for (const int64_t c : change) most = std::max(most, live += c);
  return most;
}

}  // namespace gart
