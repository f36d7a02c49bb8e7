#include "runtime/barriers.h"

#include <algorithm>

namespace gart {
namespace {

constexpr size_t kMaxWindow = 512;  // accesses that are compared; with more, a barrier costs less than the comparison

/// Bytes [begin, end) of a memory of its own: the arena, or one input or output.
struct Access {
  uint64_t space;
  int64_t begin, end;
  uint32_t step;
  int thread;  // the only thread that works on the step; -1: several do
  bool write;
};

uint64_t space_of(const fb::Buffer& buffer) { return uint64_t(buffer.kind()) << 32 | buffer.index(); }

class BarrierFinder {
 public:
  BarrierFinder(const Plan& plan, std::span<const BufferExtent> extents, Barriers& out)
      : plan_(plan), extents_(extents), out_(out) {}

  /// Adds the step's waits; true if it needs a barrier instead.
  bool add(uint32_t index, const Share& share) {
    if (share.tasks == 0) return false;  // no thread works on it, so none could signal its end
    const PlanStep& step = plan_.steps[index];
    const int thread = std::min<int64_t>(share.tasks, share.most) <= 1 ? share.first : -1;
    const size_t before = window_.size(), waits = out_.waits.size();
    bool barrier = before > kMaxWindow;
    for (uint32_t i = 0; i < step.operands; ++i) {
      const uint32_t buffer = plan_.operands[step.first_operand + i];
      if (plan_.buffer(buffer).kind() == fb::BufferKind::constant) continue;
      const Access access = access_of(buffer, writes_operand(step, i), index, thread);
      for (size_t a = 0; a < before && !barrier; ++a) {
        if (!conflicts(window_[a], access)) continue;
        barrier = thread < 0 || window_[a].thread < 0;
        if (!barrier) wait(waits, index, window_[a]);
      }
      window_.push_back(access);
    }
    if (!barrier) return false;
    out_.waits.resize(waits);
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(before));
    return true;
  }

  void clear() { window_.clear(); }

 private:
  /// The step's waits are those from `first` on, one per thread.
  void wait(size_t first, uint32_t step, const Access& on) {
    for (size_t i = first; i < out_.waits.size(); ++i) {
      Wait& wait = out_.waits[i];
      if (wait.thread == uint32_t(on.thread)) {
        wait.on = std::max(wait.on, on.step);
        return;
      }
    }
    out_.waits.push_back({step, uint32_t(on.thread), on.step});
  }

  Access access_of(uint32_t buffer, bool write, uint32_t step, int thread) const {
    const uint32_t base = plan_.base_of(buffer);
    const bool in_arena = plan_.buffer(base).kind() == fb::BufferKind::temporary;
    int64_t begin = in_arena ? extents_[base].offset : 0;
    if (base != buffer) begin += extents_[buffer].offset;
    const uint64_t space = in_arena ? uint64_t(fb::BufferKind::temporary) << 32 : space_of(plan_.buffer(base));
    return {space, begin, begin + extents_[buffer].bytes, step, thread, write};
  }

  static bool conflicts(const Access& a, const Access& b) {
    if (a.space != b.space || (!a.write && !b.write) || (a.thread >= 0 && a.thread == b.thread)) return false;
    return a.begin < b.end && b.begin < a.end;
  }

  const Plan& plan_;
  std::span<const BufferExtent> extents_;
  Barriers& out_;
  std::vector<Access> window_;  // since the last barrier
};

}  // namespace

Barriers needed_barriers(const Plan& plan, std::span<const BufferExtent> extents, std::span<const Share> shares) {
  Barriers out{std::vector<uint8_t>(plan.steps.size(), 1), {}};
  BarrierFinder finder(plan, extents, out);
  for (const Segment& segment : plan.segments) {
    if (segment.decides) continue;
    for (uint32_t i = segment.begin; i < segment.end; ++i) {
      const bool unknown = plan.steps[i].late || i == segment.begin || plan.steps[i - 1].late;
      if (unknown) finder.clear();
      if (!plan.steps[i].late) out.needed[i] = finder.add(i, shares[i]) || unknown;
    }
  }
  return out;
}

}  // namespace gart
