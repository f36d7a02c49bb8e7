#include "compiler/requested_targets.h"

#include <algorithm>

#include "compiler/kernel/device_traits.h"
#include "compiler/passes/compute_in_f32.h"

namespace gcg {
namespace {

/// A 16-bit model computes in its own type, unless the options ask for another precision than fp32.
Precision precision_of(const CompileOptions& options, const Graph& graph) {
  const DType half = half_contractions(graph);
  if (options.precision != Precision::fp32 || half == DType::undefined) return options.precision;
  return half == DType::f16 ? Precision::fp16 : Precision::bf16;
}

}  // namespace

std::vector<Target> one_per_device(const std::vector<Target>& targets) {
  std::vector<Target> first;
  for (const Target& t : targets)
    if (std::none_of(first.begin(), first.end(), [&](const Target& f) { return f.device == t.device; }))
      first.push_back(t);
  return first;
}

std::vector<Target> targets_of(const CompileOptions& options, const Graph& graph) {
  std::vector<Target> targets = require_targets(options.targets);
  for (Target& t : targets) {
    t.precision = precision_of(options, graph);
    t.decisions = options.decisions;
  }
  return targets;
}

std::vector<Remark> idle_options(const CompileOptions& options, const std::vector<Target>& targets) {
  if (std::any_of(targets.begin(), targets.end(), [](const Target& t) { return traits_of(t.device).has_libraries; }))
    return {};
  std::vector<Remark> idle;
  if (options.libraries.binder && !options.libraries.fallbacks) idle.push_back({{}, IdleOption::libraries});
  if (options.precision == Precision::tf32) idle.push_back({{}, IdleOption::tf32});
  return idle;
}

}  // namespace gcg
