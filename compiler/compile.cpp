#include "compiler/compile.h"

#include <map>

#include "compiler/emit_artifact.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/specialise.h"
#include "compiler/schedule/print_schedule.h"
#include "compiler/schedule/schedule.h"
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

const Backend& backend_for(const Target& target, const Backends& backends) {
  for (const auto& b : backends)
    if (b->device() == target.device) return *b;
  fail("no code generator for target '", target.name, "' is built in");
}

std::vector<Target> resolve_targets(const std::vector<std::string>& names) {
  std::vector<Target> out;
  for (const std::string& name : names) {
    auto target = find_target(name);
    if (!target) {
      std::string known;
      for (const std::string& k : known_targets()) known += (known.empty() ? "" : ", ") + k;
      fail("unknown target '", name, "'; known are: ", known);
    }
    out.push_back(*target);
  }
  return out;
}

/// Machine code for one target: the distinct kernels of all plans, each compiled once.
TargetCode generate_code(const Target& target, const std::vector<ShapePlan>& plans, const Backends& backends, int threads) {
  TargetCode code;
  code.target = target;
  std::vector<const Kernel*> distinct;
  std::map<std::string, size_t> known;
  for (const ShapePlan& plan : plans) {
    auto& numbers = code.kernel_of.emplace_back();
    for (const Kernel& k : plan.schedule.kernels) {
      auto [it, fresh] = known.try_emplace(key(k), distinct.size());
      if (fresh) distinct.push_back(&k);
      numbers.push_back(it->second);
    }
  }
  code.blob = backend_for(target, backends).compile(distinct, target, threads);
  return code;
}

}  // namespace

CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options, const Backends& backends) {
  const auto stage = [&](const std::string& text) { if (options.progress) options.progress(text); };
  const std::vector<Target> targets = resolve_targets(options.targets);

  stage("passes");
  infer_graph(graph);
  if (!run_passes(graph, model_passes(), nullptr, options.passes)) return {};

  std::vector<ShapePlan> plans;
  for (const SymbolValues& fixed : shape_sets(options.dims)) {
    stage(fixed.empty() ? "plan" : "plan " + describe(fixed));
    Graph specialised = specialise(graph, fixed);
    if (!run_passes(specialised, device_passes(), &targets.front(), options.passes)) return {};
    ShapePlan plan{fixed, make_schedule(specialised)};
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
    for (const TargetCode& c : code) {
      PlanReport row{c.target.name, plan.fixed.empty() ? "symbolic" : describe(plan.fixed), 0,
                     static_cast<int64_t>(plan.schedule.kernels.size()), plan.schedule.memory.layout.bytes,
                     plan.schedule.memory.layout.lower_bound};
      for (const Sequence& s : plan.schedule.sequences) row.steps += static_cast<int64_t>(s.steps.size());
      result.plans.push_back(row);
    }
  for (const Buffer& b : plans.back().schedule.buffers)
    if (b.constant) result.weight_bytes += b.constant->bytes();
  for (const TargetCode& c : code) result.code_bytes += static_cast<int64_t>(c.blob.code.size());
  return result;
}

}  // namespace gcg
