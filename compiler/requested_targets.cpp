#include "compiler/requested_targets.h"

#include <algorithm>

#include "compiler/kernel/device_traits.h"
#include "compiler/passes/compute_in_f32.h"

namespace gcg {

std::vector<Target> one_per_device(const std::vector<Target>& targets) {
  std::vector<Target> first;
  for (const Target& t : targets)
    if (std::none_of(first.begin(), first.end(), [&](const Target& f) { return f.device == t.device; }))
      first.push_back(t);
  return first;
}

std::vector<Target> targets_of(const std::vector<std::string>& names, Precision precision, const Decisions* decisions,
                               const Graph& graph) {
  const DType half = half_contractions(graph);
  if (precision == Precision::fp32 && half != DType::undefined)
    precision = half == DType::f16 ? Precision::fp16 : Precision::bf16;
  std::vector<Target> targets = require_targets(names);
  for (Target& t : targets) {
    t.precision = precision;
    t.decisions = decisions;
  }
  return targets;
}

std::vector<Remark> idle_options(const LibraryOptions& libraries, Precision precision,
                                 const std::vector<Target>& targets) {
  if (std::any_of(targets.begin(), targets.end(), [](const Target& t) { return traits_of(t.device).has_libraries; }))
    return {};
  std::vector<Remark> idle;
  if (libraries.binder && !libraries.fallbacks) idle.push_back({{}, UnusedOption::libraries});
  if (precision == Precision::tf32) idle.push_back({{}, UnusedOption::tf32});
  return idle;
}

}  // namespace gcg
