#include "runtime/barriers.h"

#include <algorithm>

namespace gart {
namespace {

constexpr size_t kMaxWindow = 256;  // accesses looked back at; beyond, a barrier is cheaper than looking

/// Bytes [begin, end) of a memory of its own: the arena, or one input or output.
struct Access {
  uint64_t space;
  int64_t begin, end;
  bool write;
  bool single;  // by a step with one task
};

uint64_t space_of(const fb::Buffer& buffer) { return uint64_t(buffer.kind()) << 32 | buffer.index(); }

class BarrierFinder {
 public:
  BarrierFinder(const Plan& plan, std::span<const BufferExtent> extents) : plan_(plan), extents_(extents) {}

  bool needs_barrier(const PlanStep& step, bool single) {
    const size_t before = window_.size();
    bool conflict = before > kMaxWindow;
    for (uint32_t i = 0; i < step.operands; ++i) {
      const uint32_t buffer = plan_.operands[step.first_operand + i];
      if (plan_.buffer(buffer).kind() == fb::BufferKind::constant) continue;
      const Access access = access_of(buffer, writes_operand(step, i), single);
      for (size_t a = 0; a < before && !conflict; ++a) conflict = conflicts(window_[a], access);
      window_.push_back(access);
    }
    if (conflict) window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(before));
    return conflict;
  }

  void clear() { window_.clear(); }

 private:
  Access access_of(uint32_t buffer, bool write, bool single) const {
    const uint32_t base = plan_.base_of(buffer);
    const bool in_arena = plan_.buffer(base).kind() == fb::BufferKind::temporary;
    int64_t begin = in_arena ? extents_[base].offset : 0;
    if (base != buffer) begin += extents_[buffer].offset;
    const uint64_t space = in_arena ? uint64_t(fb::BufferKind::temporary) << 32 : space_of(plan_.buffer(base));
    return {space, begin, begin + extents_[buffer].bytes, write, single};
  }

  static bool conflicts(const Access& a, const Access& b) {
    if (a.space != b.space || (!a.write && !b.write) || (a.single && b.single)) return false;
    return a.begin < b.end && b.begin < a.end;
  }

  const Plan& plan_;
  std::span<const BufferExtent> extents_;
  std::vector<Access> window_;  // since the last barrier
};

}  // namespace

std::vector<uint8_t> needed_barriers(const Plan& plan, std::span<const BufferExtent> extents,
                                     std::span<const int64_t> tasks, uint32_t device) {
  std::vector<uint8_t> needed(plan.steps.size(), 1);
  BarrierFinder finder(plan, extents);
  for (const Segment& segment : plan.segments) {
    if (segment.steers || segment.device != device) continue;
    for (uint32_t i = segment.begin; i < segment.end; ++i) {
      const PlanStep& step = plan.steps[i];
      const bool unknown = step.late || i == segment.begin || plan.steps[i - 1].late;
      if (unknown) finder.clear();
      if (!step.late) needed[i] = finder.needs_barrier(step, tasks[i] <= 1) || unknown;
    }
  }
  return needed;
}

}  // namespace gart
