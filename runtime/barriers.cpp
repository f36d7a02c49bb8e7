#include "runtime/barriers.h"

#include <algorithm>

namespace gart {
namespace {

// The most accesses that are compared; with more, a barrier costs less than the comparison.
constexpr size_t kMaxWindow = 512;

uint64_t space_of(const fb::Buffer& buffer) { return uint64_t(buffer.kind()) << 32 | buffer.index(); }

/// Adds a wait of the step. Its earlier waits are waits[first] and all after it, at most one per thread.
void add_wait(std::vector<Wait>& waits, size_t first, const Wait& added) {
  for (size_t i = first; i < waits.size(); ++i) {
    if (waits[i].thread == added.thread) {
      waits[i].on = std::max(waits[i].on, added.on);
      return;
    }
  }
  waits.push_back(added);
}

}  // namespace

BarrierFinder::Access BarrierFinder::access_of(const Problem& problem, uint32_t buffer, bool write, uint32_t step,
                                               int thread) {
  const Plan& plan = problem.plan;
  const uint32_t base = plan.base_of(buffer);
  const bool in_arena = plan.buffer(base).kind() == fb::BufferKind::temporary;
  int64_t begin = in_arena ? problem.extents[base].offset : 0;
  if (base != buffer) begin += problem.extents[buffer].offset;
  const uint64_t space = in_arena ? uint64_t(fb::BufferKind::temporary) << 32 : space_of(plan.buffer(base));
  return {space, begin, begin + problem.extents[buffer].bytes, step, thread, write};
}

bool BarrierFinder::conflicts(const Access& a, const Access& b) {
  if (a.space != b.space || (!a.write && !b.write) || (a.thread >= 0 && a.thread == b.thread)) return false;
  return a.begin < b.end && b.begin < a.end;
}

/// Adds the step's waits; true if it needs a barrier instead.
bool BarrierFinder::add(const Problem& problem, uint32_t index, const Share& share) {
  if (share.tasks == 0) return false;  // no thread works on this step, so no thread could signal its end
  const PlanStep& step = problem.plan.steps[index];
  const int thread = std::min<int64_t>(share.tasks, share.most) <= 1 ? share.first : -1;
  const size_t before = window_.size(), waits = problem.waits.size();
  bool barrier = before > kMaxWindow;
  for (uint32_t i = 0; i < step.operands; ++i) {
    const uint32_t buffer = problem.plan.operands[step.first_operand + i];
    if (problem.plan.buffer(buffer).kind() == fb::BufferKind::constant) continue;
    const Access access = access_of(problem, buffer, writes_operand(step, i), index, thread);
    for (size_t a = 0; a < before && !barrier; ++a) {
      if (!conflicts(window_[a], access)) continue;
      barrier = thread < 0 || window_[a].thread < 0;
      if (!barrier) add_wait(problem.waits, waits, {index, uint32_t(window_[a].thread), window_[a].step});
    }
    window_.push_back(access);
  }
  if (!barrier) return false;
  problem.waits.resize(waits);
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(before));
  return true;
}

void BarrierFinder::find(const Plan& plan, std::span<const BufferExtent> extents, std::span<const Share> shares,
                         std::vector<Wait>& waits) {
  needed_.assign(plan.steps.size(), 1);
  window_.clear();
  const Problem problem{plan, extents, waits};
  for (const Segment& segment : plan.segments) {
    if (segment.decides) continue;
    for (uint32_t i = segment.begin; i < segment.end; ++i) {
      const bool unknown = plan.steps[i].run_bound || i == segment.begin || plan.steps[i - 1].run_bound;
      if (unknown) window_.clear();
      if (!plan.steps[i].run_bound) needed_[i] = add(problem, i, shares[i]) || unknown;
    }
  }
}

}  // namespace gart
