#include "compiler/compile.h"

#include <algorithm>

#include "compiler/emit_artifact.h"
#include "compiler/generate_code.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/specialise.h"
#include "compiler/schedule/print_schedule.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/streams.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Every combination of the values asked for by --dim; the empty one (the plan that leaves all symbols open) comes last
/// unless the model has no symbols left in it.
std::vector<SymbolValues> shape_sets(const std::vector<std::pair<std::string, std::vector<int64_t>>>& dims) {
  std::vector<SymbolValues> sets = {{}};
  for (const auto& [name, values] : dims) {
    std::vector<SymbolValues> next;
    for (const SymbolValues& set : sets)
      for (int64_t v : values) {
        next.push_back(set);
        next.back()[name] = v;
      }
    sets = std::move(next);
  }
  if (!dims.empty()) sets.emplace_back();
  return sets;
}

std::string describe(const SymbolValues& set) {
  std::string out;
  for (const auto& [name, value] : set) out += concat(out.empty() ? "" : ",", name, "=", value);
  return out;
}

/// The first target of each class of devices: all of a class share passes, schedule and memory plan.
std::vector<Target> one_per_device(const std::vector<Target>& targets) {
  std::vector<Target> first;
  for (const Target& t : targets)
    if (std::none_of(first.begin(), first.end(), [&](const Target& f) { return f.device == t.device; })) first.push_back(t);
  return first;
}

PlanReport report(const ShapePlan& plan, const Target& target) {
  const ArenaLayout& arena = plan.schedule.memory.layout;
  PlanReport row{target.name, plan.fixed.empty() ? "symbolic" : describe(plan.fixed), 0,
                 static_cast<int64_t>(plan.schedule.kernels.size()), arena.bytes, arena.lower_bound};
  for (const Sequence& s : plan.schedule.sequences) row.steps += static_cast<int64_t>(s.steps.size());
  return row;
}

}  // namespace

CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options, const Backends& backends) {
  const auto stage = [&](const std::string& text) { if (options.progress) options.progress(text); };
  std::vector<Target> targets = require_targets(options.targets);
  for (Target& t : targets)
    if (t.device == DeviceClass::cuda) t.precision = options.precision;

  stage("passes");
  infer_graph(graph);
  if (!run_passes(graph, model_passes(), nullptr, options.passes)) return {};

  std::vector<ShapePlan> plans;
  for (const Target& device : one_per_device(targets))
    for (const SymbolValues& fixed : shape_sets(options.dims)) {
      stage(concat("plan ", device.name, " ", describe(fixed)));
      Graph specialised = specialise(graph, fixed);
      if (!run_passes(specialised, device_passes(device.device), &device, options.passes)) return {};
      ShapePlan plan{device.device, fixed, make_schedule(specialised)};
      if (device.device == DeviceClass::cuda) assign_streams(plan.schedule);
      plan_memory(plan.schedule, options.memory_limit);
      verify_schedule(plan.schedule);
      if (options.print_schedule && options.passes.out != nullptr) *options.passes.out << print_schedule(plan.schedule);
      plans.push_back(std::move(plan));
    }

  std::vector<TargetCode> code;
  for (const Target& target : targets) {
    stage("code " + target.name);
    code.push_back(generate_code(target, plans, backends, options.threads));
  }

  stage("artifact");
  CompileResult result;
  result.artifact = emit_artifact(graph, plans, code, {"gcc-graph 0.1.0", source_hash, "", graph.name});
  for (const ShapePlan& plan : plans)
    for (const Target& target : targets)
      if (plan.device == target.device) result.plans.push_back(report(plan, target));
  for (const Buffer& b : plans.back().schedule.buffers)
    if (b.constant) result.weight_bytes += b.constant->bytes();
  for (const TargetCode& c : code) result.code_bytes += static_cast<int64_t>(c.blob.code.size());
  return result;
}

}  // namespace gcg
