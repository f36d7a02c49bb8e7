#include "compiler/compile.h"

#include <algorithm>
#include <span>

#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"
#include "compiler/bind_libraries.h"
#include "compiler/emit_artifact.h"
#include "compiler/generate_code.h"
#include "compiler/ops/infer.h"
#include "compiler/narrow_weights_remarks.h"
#include "compiler/passes/compute_in_f32.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/specialise.h"
#include "compiler/plan_remarks.h"
#include "compiler/plan_report.h"
#include "compiler/prepare_weights.h"
#include "compiler/schedule/constant_operands.h"
#include "compiler/schedule/print_schedule.h"
#include "compiler/schedule/repeated_work.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/streams.h"
#include "compiler/shape_remarks.h"
#include "compiler/shape_sets.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The first target of each class of devices: all of a class share passes, schedule and memory plan.
std::vector<Target> one_per_device(const std::vector<Target>& targets) {
  std::vector<Target> first;
  for (const Target& t : targets)
    if (std::none_of(first.begin(), first.end(), [&](const Target& f) { return f.device == t.device; })) first.push_back(t);
  return first;
}

/// A model in 16 bits asks for no more than it has.
Precision precision_of(const CompileOptions& options, const Graph& graph) {
  const DType half = half_contractions(graph);
  if (options.precision != Precision::fp32 || half == DType::undefined) return options.precision;
  return half == DType::f16 ? Precision::fp16 : Precision::bf16;
}

/// As asked for, with what options and model say about all of them.
std::vector<Target> targets_of(const CompileOptions& options, const Graph& graph) {
  std::vector<Target> targets = require_targets(options.targets);
  for (Target& t : targets) {
    t.precision = precision_of(options, graph);
    if (t.device == DeviceClass::cuda) t.decisions = options.decisions;
  }
  return targets;
}

/// What was asked for and has no effect on any plan.
std::vector<std::string> remarks_on(const CompileOptions& options, const std::vector<Target>& targets) {
  const bool has_gpu = std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.device == DeviceClass::cuda; });
  if (has_gpu) return {};
  std::vector<std::string> remarks;
  if (options.libraries && !options.stand_ins) remarks.push_back("--libraries has no effect: no GPU is among the targets");
  if (options.precision == Precision::tf32) remarks.push_back("--precision tf32 has no effect: no GPU is among the targets");
  return remarks;
}

/// What a runtime would refuse is ours to find.
void verify_own(std::span<const uint8_t> artifact) {
  gart::ArtifactView view;
  gart::Status status = gart::read_artifact(artifact, view, {.digests = false});
  if (status.ok()) status = gart::verify_artifact(view);
  GCG_CHECK(status.ok(), "the artifact is not sound: ", status.message);
}

}  // namespace

CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options, const Backends& backends) {
  const auto stage = [&](const std::string& text) { if (options.progress) options.progress(text); };
  stage("passes");
  infer_graph(graph);
  const std::vector<Target> targets = targets_of(options, graph);
  const Partition partition(graph, options.assignments);
  partition.check_targets(targets);
  if (!run_passes(graph, model_passes(), nullptr, options.passes)) return {};

  std::vector<ShapePlan> plans;
  std::vector<std::string> remarks = remarks_on(options, targets);
  for (std::string& remark : shape_remarks(graph)) remarks.push_back(std::move(remark));
  for (const Target& device : one_per_device(targets))
    for (const SymbolValues& fixed : shape_sets(options.dims)) {
      stage(concat("plan ", device.name, " ", describe(fixed)));
      Graph specialised = specialise(graph, fixed);
      if (!run_passes(specialised, shape_passes(), &device, options.passes)) return {};
      if (device.device == DeviceClass::cuda) add_remarks(remarks, device.device, fixed, partition.apply(specialised));
      if (!run_passes(specialised, device_passes(device.device), &device, options.passes)) return {};
      ShapePlan plan{device.device, fixed, make_schedule(specialised, device.device)};
      add_remarks(remarks, device.device, fixed, repeated_work(specialised, device.device));
      if (device.device == DeviceClass::cpu && options.precision != Precision::fp32)
        add_remarks(remarks, device.device, fixed, narrow_weights_remarks(specialised));
      if (device.device == DeviceClass::cuda) {
        mark_constant_operands(plan.schedule);
        assign_streams(plan.schedule);
      }
      const bool binds = binds_libraries(targets, device, options);
      if (binds) keep_operands(plan.schedule, *options.libraries);
      plan_memory(plan.schedule, options.memory_limit);
      verify_schedule(plan.schedule);
      if (binds) add_remarks(remarks, device.device, fixed, bind_libraries(plan, targets, *options.libraries, options.stand_ins));
      if (options.print_schedule && options.passes.out != nullptr) *options.passes.out << print_schedule(plan.schedule);
      if (device.device == DeviceClass::cuda) add_remarks(remarks, device.device, fixed, plan_remarks(plan.schedule));
      plans.push_back(std::move(plan));
    }

  if (options.passes.stop_after == kStopAfterSchedule) return {};

  const PreparedWeights prepared = prepare_weights(plans);

  std::vector<TargetCode> code;
  for (const Target& target : targets) {
    stage("code " + target.name);
    code.push_back(generate_code(target, plans, backends, options.threads));
  }

  stage("artifact");
  const Provenance provenance{"gcc-graph 0.1.0", source_hash, "", graph.name, options.metadata};
  EmittedArtifact emitted = emit_artifact(graph, plans, prepared, code, provenance, options.labels);
  verify_own(emitted.bytes);
  CompileResult result{std::move(emitted.bytes), {}, emitted.weight_bytes, 0, std::move(remarks)};
  for (const auto& [numbers, size] : emitted.sizes)
    result.plans.push_back(report_plan(plans[numbers.first], targets[numbers.second], size));
  for (const TargetCode& c : code) result.code_bytes += static_cast<int64_t>(c.blob.code.size());
  return result;
}

}  // namespace gcg
