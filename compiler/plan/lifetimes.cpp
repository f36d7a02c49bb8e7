#include "compiler/plan/lifetimes.h"

namespace gcg {
namespace {

template <class F>
void each_buffer(const Step& step, const F& f) {
  for (BufferId b : step.reads()) f(b);
  for (BufferId b : step.writes()) f(b);
}

std::vector<SequenceId> inside(std::vector<SequenceId> path, const Step& step, SequenceId body) {
  if (step.as<Loop>()) path.push_back(body);
  return path;
}

}  // namespace

Lifetimes::Lifetimes(const Plan& plan) : ranges(plan.buffers.size()), plan_(plan) {
  const SequenceId entry(static_cast<int64_t>(plan.sequences.size()) - 1);
  find_homes(entry, {});
  walk(entry, {});
}

void Lifetimes::find_homes(SequenceId sequence, const Path& path) {
  for (const Step& step : plan_.sequences[sequence].steps) {
    each_buffer(step, [&](BufferId b) { meet(b, path); });
    for (SequenceId body : step.bodies()) find_homes(body, inside(path, step, body));
  }
}

void Lifetimes::meet(BufferId b, const Path& path) {
  const auto [it, fresh] = paths_.try_emplace(b, path);
  Path& common = it->second;
  size_t n = 0;
  while (n < common.size() && n < path.size() && common[n] == path[n]) ++n;
  common.resize(n);
}

/// Returns the buffers that `sequence` and its nested sequences use.
std::set<BufferId> Lifetimes::walk(SequenceId sequence, const Path& path) {
  std::set<BufferId> used;
  for (const Step& step : plan_.sequences[sequence].steps) {
    const int begin = step.continues() ? position_ - 1 : position_++;
    std::set<BufferId> inner;
    for (SequenceId body : step.bodies()) inner.merge(walk(body, inside(path, step, body)));
    const int end = step.bodies().empty() ? begin : position_++;
    at[&step] = begin;
    each_buffer(step, [&](BufferId b) {
      ranges[b].include(begin, end);
      used.insert(b);
    });
    if (const auto* loop = step.as<Loop>())
      for (BufferId b : inner)
        if (const Path& home = paths_.at(b); home.empty() || home.back() != loop->body) ranges[b].include(begin, end);
    used.merge(inner);
  }
  return used;
}

}  // namespace gcg
