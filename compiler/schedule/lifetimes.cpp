#include "compiler/schedule/lifetimes.h"

namespace gcg {
namespace {

template <class F>
void each_buffer(const Step& step, const F& f) {
  for (BufferId b : step.operands) f(b);
  for (BufferId b : {step.trip_count, step.condition, step.iteration})
    if (b.valid()) f(b);
  for (BufferId b : step.carried_from) f(b);
  for (BufferId b : step.carried_to) f(b);
}

}  // namespace

Lifetimes::Lifetimes(const Schedule& schedule)
    : ranges(schedule.buffers.size()), s_(schedule), homes_(schedule.buffers.size(), -2) {
  const int entry = static_cast<int>(schedule.sequences.size()) - 1;
  find_homes(entry, {});
  walk(entry, {});
}

/// The innermost loop that encloses every use of a buffer (-1: none).
void Lifetimes::find_homes(int sequence, const Path& path) {
  for (const Step& step : s_.sequences[static_cast<size_t>(sequence)].steps) {
    each_buffer(step, [&](BufferId b) { meet(b, path); });
    for (int body : step.bodies) {
      Path inner = path;
      if (step.kind == Step::Kind::loop) inner.push_back(body);
      find_homes(body, inner);
    }
  }
}

void Lifetimes::meet(BufferId b, const Path& path) {
  auto& common = paths_[b];
  if (homes_[static_cast<size_t>(b.index)] == -2) {
    common = path;
  } else {
    size_t n = 0;
    while (n < common.size() && n < path.size() && common[n] == path[n]) ++n;
    common.resize(n);
  }
  homes_[static_cast<size_t>(b.index)] = common.empty() ? -1 : common.back();
}

/// Returns the buffers used in `sequence` (with nested ones).
std::set<BufferId> Lifetimes::walk(int sequence, const Path& path) {
  std::set<BufferId> used;
  for (const Step& step : s_.sequences[static_cast<size_t>(sequence)].steps) {
    const int begin = position_++;
    std::set<BufferId> inside;
    for (int body : step.bodies) {
      Path inner = path;
      if (step.kind == Step::Kind::loop) inner.push_back(body);
      inside.merge(walk(body, inner));
    }
    const int end = step.bodies.empty() ? begin : position_++;
    at[&step] = begin;
    each_buffer(step, [&](BufferId b) {
      touch(b, begin, end);
      used.insert(b);
    });
    if (step.kind == Step::Kind::loop)
      for (BufferId b : inside)
        if (homes_[static_cast<size_t>(b.index)] != step.bodies[0]) touch(b, begin, end);
    used.merge(inside);
  }
  // Within one sequence a body's own uses are at their own positions.
  for (const Step& step : s_.sequences[static_cast<size_t>(sequence)].steps)
    if (step.bodies.empty()) each_buffer(step, [&](BufferId b) { touch(b, at[&step], at[&step]); });
  return used;
}

}  // namespace gcg
