#include "compiler/compile.h"

#include <algorithm>
#include <span>

#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"
#include "compiler/artifact/emit_artifact.h"
#include "compiler/narrow_weights_remarks.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/compute_in_f32.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/specialise.h"
#include "compiler/plan/constant_operands.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/overlap_launches.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/plan_remarks.h"
#include "compiler/plan/print_plan.h"
#include "compiler/plan/select_code.h"
#include "compiler/plan/shape_sets.h"
#include "compiler/plan/streams.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/plan_report.h"
#include "compiler/schedule/repeated_work.h"
#include "compiler/shape_remarks.h"
#include "compiler/support/error.h"
#include "compiler/weights/prepare_weights.h"

namespace gcg {
namespace {

/// The first target of each class of devices: all of a class share passes and kernels.
std::vector<Target> one_per_device(const std::vector<Target>& targets) {
  std::vector<Target> first;
  for (const Target& t : targets)
    if (std::none_of(first.begin(), first.end(), [&](const Target& f) { return f.device == t.device; }))
      first.push_back(t);
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
  const bool has_gpu =
      std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.device == DeviceClass::cuda; });
  if (has_gpu) return {};
  std::vector<std::string> remarks;
  if (options.libraries.binder && !options.libraries.stand_ins)
    remarks.push_back("--libraries has no effect: no GPU is among the targets");
  if (options.precision == Precision::tf32)
    remarks.push_back("--precision tf32 has no effect: no GPU is among the targets");
  return remarks;
}

/// What a runtime would refuse is ours to find.
void verify_own(std::span<const uint8_t> artifact) {
  gart::ArtifactView view;
  gart::Status status = gart::read_artifact(artifact, view, {.digests = false});
  if (status.ok()) status = gart::verify_artifact(view);
  GCG_CHECK(status.ok(), "the artifact is not sound: ", status.message);
}

/// One compilation, stage by stage.
class Compilation {
 public:
  Compilation(Graph graph, const CompileOptions& options)
      : options_(options),
        graph_(inferred(std::move(graph))),
        targets_(targets_of(options, graph_)),
        partition_(graph_, options.assignments),
        remarks_(remarks_on(options, targets_)) {
    partition_.check_targets(targets_);
  }

  /// The story. False if --stop-after ended the work.
  bool run(const Backends& backends) {
    if (!run_passes(graph_, model_passes(), nullptr, options_.passes)) return false;
    for (std::string& remark : shape_remarks(graph_)) remarks_.push_back(std::move(remark));
    for (const Target& device : one_per_device(targets_))
      for (const SymbolValues& fixed : shape_sets(options_.dims))
        if (!plan(device, fixed)) return false;
    const bool has_code = options_.passes.stop_after != kStopAfterPlan;
    if (has_code) {
      read_at_load_ = prepare_weights(plans_);
      select_code_of_all(backends);
    }
    // From here on no step is added.
    for (Plan& p : plans_) {
      if (p.device != DeviceClass::cuda || p.at_load) continue;  // at load there is nothing to gain
      assign_streams(p);
      overlap_launches(p);
    }
    // From here on the order of steps is final.
    for (Plan& p : plans_) {
      plan_memory(p, p.at_load ? std::nullopt : options_.memory_limit);
      verify_plan(p);
      if (options_.print_plan && options_.passes.out != nullptr) *options_.passes.out << print_plan(p);
    }
    // From here on an operand is a buffer and its place.
    return has_code;
  }

  CompileResult result(const std::string& source_hash) {
    stage("artifact");
    const WeightsSection weights = place_weights(plans_, read_at_load_);
    CompileResult out;
    out.artifact = emit_artifact(graph_, plans_, weights, code_,
                                 {"gcc-graph 0.1.0", source_hash, "", graph_.name, options_.metadata}, options_.labels);
    verify_own(out.artifact);
    for (const Plan& p : plans_) out.plans.push_back(report_plan(p, targets_[static_cast<size_t>(p.target)]));
    out.weight_bytes = static_cast<int64_t>(weights.bytes());
    for (const TargetCode& c : code_) out.code_bytes += static_cast<int64_t>(c.blob.code.size());
    out.remarks = std::move(remarks_);
    return out;
  }

 private:
  void stage(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  Graph inferred(Graph graph) const {
    stage("passes");
    infer_graph(graph);
    return graph;
  }

  /// Plans for all targets of the device's class with these extents. False if --stop-after ended the work.
  bool plan(const Target& device, const SymbolValues& fixed) {
    const bool on_gpu = device.device == DeviceClass::cuda;
    const auto say = [&](const std::vector<std::string>& sentences) {
      add_remarks(remarks_, device.device, fixed, sentences);
    };
    stage(concat("plan ", device.name, " ", describe(fixed)));
    Graph specialised = specialise(graph_, fixed);
    if (!run_passes(specialised, shape_passes(), &device, options_.passes)) return false;
    if (on_gpu) say(partition_.apply(specialised));
    if (!run_passes(specialised, device_passes(device.device), &device, options_.passes)) return false;
    Plan shared = make_plan(specialised, device.device);
    shared.fixed = fixed;
    say(repeated_work(specialised, device.device));
    if (!on_gpu && options_.precision != Precision::fp32) say(narrow_weights_remarks(specialised));
    if (on_gpu) mark_constant_operands(shared);
    std::optional<LibraryCalls> calls;
    if (on_gpu && options_.libraries.binder) calls.emplace(shared, targets_, options_.libraries);
    if (calls) say(calls->remarks(shared));
    if (on_gpu) say(plan_remarks(shared));
    if (options_.memory_limit) {  // what is too large is said before code is made
      Plan alone = shared;
      plan_memory(alone, options_.memory_limit);
    }
    for (size_t t = 0; t < targets_.size(); ++t) {
      if (targets_[t].device != device.device) continue;
      plans_.push_back(shared);
      plans_.back().target = static_cast<int>(t);
      plans_.back().machine = &machine_of(targets_[t]);
      if (calls) calls->bind(plans_.back(), targets_[t]);
    }
    return true;
  }

  void select_code_of_all(const Backends& backends) {
    for (size_t t = 0; t < targets_.size(); ++t) {
      stage("code " + targets_[t].name);
      code_.push_back({targets_[t], select_code(targets_[t], static_cast<int>(t), plans_, backends, options_.threads)});
    }
  }

  const CompileOptions& options_;
  Graph graph_;
  const std::vector<Target> targets_;
  const Partition partition_;
  std::vector<std::string> remarks_;
  std::vector<Plan> plans_;
  std::set<const Tensor*> read_at_load_;
  std::vector<TargetCode> code_;
};

}  // namespace

CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options,
                      const Backends& backends) {
  Compilation compilation(std::move(graph), options);
  return compilation.run(backends) ? compilation.result(source_hash) : CompileResult();
}

}  // namespace gcg
