#include "compiler/compile.h"

#include <algorithm>
#include <span>

#include "compiler/artifact/emit_artifact.h"
#include "compiler/artifact/emit_assembly.h"
#include "compiler/artifact/file_texts.h"
#include "compiler/artifact/verify_own.h"
#include "compiler/best_parts.h"
#include "compiler/bound_parameters.h"
#include "compiler/ir/deferred.h"
#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/kernel_progress.h"
#include "compiler/mode_rules.h"
#include "compiler/open_model.h"
#include "compiler/ops/infer.h"
#include "compiler/partition/implied_fleet.h"
#include "compiler/partition/runs_on.h"
#include "compiler/parts.h"
#include "compiler/passes/order_states.h"
#include "compiler/passes/pair_states.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/settle_extents.h"
#include "compiler/passes/specialise.h"
#include "compiler/plan/constant_operands.h"
#include "compiler/plan/frozen_steps.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/overlap_launches.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/print_plan.h"
#include "compiler/plan/recompute.h"
#include "compiler/plan/select_code.h"
#include "compiler/plan/shape_sets.h"
#include "compiler/plan/streams.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/report/equal_extents.h"
#include "compiler/report/host_waits.h"
#include "compiler/report/kernel_types.h"
#include "compiler/report/library_use.h"
#include "compiler/report/narrowed_weights.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/repeated_work.h"
#include "compiler/report/whole_caches.h"
#include "compiler/requested_targets.h"
#include "compiler/support/error.h"
#include "compiler/weights/load_time_packing.h"

namespace gcg {
namespace {

/// One compilation, stage by stage.
class Compilation {
 public:
  Compilation(Graph graph, std::vector<Graph> more, std::vector<ModeRule> rules, const CompileOptions& options)
      : options_(options),
        more_(std::move(more)),
        rules_(std::move(rules)),
        graph_(inferred(with_states(std::move(graph)))),
        targets_(targets_of(options.targets, options.precision, options.decisions, graph_)),
        whole_targets_(targets_of_whole(graph_, targets_)),
        cut_(options.cut),
        fleet_(options.fleet ? options.fleet : implied_fleet(graph_, targets_, cut_)),
        requests_(fleet_ ? NodeRequests(graph_, *fleet_, cut_) : NodeRequests()),
        remarks_(idle_options(options.libraries, options.precision, targets_)),
        types_(float_types_of(graph_, more_)) {
    check_interface(graph_, options.labels);
    check_states(graph_);
    for (const Graph& other : more_) {
      check_interface(other, {});
      check_states(other);
    }
    check_entry_names(graph_, more_);
    if (auto whole = whole_caches(graph_)) remarks_.push_back({{}, std::move(*whole)});
    if (fleet_) check_targets(*fleet_, targets_);
    if (options.fleet)
      for (IdlePattern& p : idle_patterns(*options.fleet))
        remarks_.push_back({{}, UnmatchedName{std::move(p.pattern), "operator or element type", std::move(p.nearest)}});
    if (fleet_ && !options.parameters.empty())
      fail("the option `parameters` (inputs that never change) is not supported with a fleet");
    if (fleet_ && !more_.empty()) fail("--entry: several models in one file run on one device, not on a fleet");
    if (fleet_ && !graph_.states.empty())
      fail("state '", graph_.states[0].name, "': a model with states runs on one device, not on a fleet");
  }

  /// All stages, in order. Returns false if --stop-after ended the work.
  bool run(const Backends& backends) {
    std::optional<Graph> fetchable_graph = with_kept_values();
    if (!run_model_passes() || !plan_model()) return false;
    if (auto equal = equal_extents(open_ ? open_->graph() : graph_)) remarks_.push_back({{}, std::move(*equal)});
    bind_parameters(graph_, options_.parameters);  // users of the file see only the other inputs
    for (Graph& other : more_) {
      const std::vector<Shape> declared = input_shapes(other);
      if (!run_passes(other, model_passes(), nullptr, options_.passes)) return false;
      const std::vector<SymbolValues> own = sets_of(other, sets(settled_since(declared, other)));
      if (!plan_entry(other, targets_of_whole(other, targets_), own)) return false;
    }
    check_shared_states(entries_);
    if (fleet_ && !plan_parts(std::move(fetchable_graph))) return false;
    const bool has_code = options_.passes.stop_after != kStopAfterPlan;
    if (has_code) packing_sources_ = plan_load_time_packing(plans_);
    if (options_.print_source && options_.passes.out != nullptr)
      for (size_t t = 0; t < targets_.size(); ++t)
        print_sources(targets_[t], static_cast<int>(t), plans_, backends, *options_.passes.out);
    if (has_code) select_code_of_all(backends);
    // From here on no step is added.
    const FrozenSteps work(plans_, FrozenSteps::Facts::work);
    for (Plan& p : plans_) {
      if (p.is_load_time_packing) continue;  // a relayout at load gains nothing from streams
      if (traits_of(p.device).has_streams) {
        assign_streams(p);
        if (options_.memory_limit) drop_large_streams(p, *options_.memory_limit);
        overlap_launches(p);
      } else {
        const auto entry = static_cast<size_t>(p.entry_point);
        choose_parallel_modes(p, options_.memory_limit, entry < rules_.size() ? rules_[entry] : ModeRule::costs);
      }
    }
    work.check(plans_);
    // From here on the order of steps is final.
    const FrozenSteps order(plans_, FrozenSteps::Facts::order);
    for (Plan& p : plans_) {
      plan_memory(p, p.is_load_time_packing ? std::nullopt : options_.memory_limit);
      verify_plan(p);
      if (options_.print_plan && options_.passes.out != nullptr) *options_.passes.out << print_plan(p);
    }
    order.check(plans_);
    // From here on each operand has a buffer and an offset; later stages only read plans.
    return has_code;
  }

  CompileResult result(const std::string& source_hash) {
    stage("artifact");
    add_model_types(plans_, types_);
    free_unshared_constants(graph_);  // plans hold the constants that the file needs
    for (Graph& other : more_) free_unshared_constants(other);
    WeightsSection weights = place_weights(plans_, packing_sources_);
    for (const Graph* entry : entries_)
      for (const State& state : entry->states)
        if (state.initial) weights.place(state.initial, state.name);
    CompileResult out;
    const std::vector<uint8_t> section = assembly();
    if (parted_) out.cut = report_cut(*parted_, *fleet_, plans_, targets_, section);
    const Graph interface = model_interface();
    entries_[0] = &interface;
    const std::vector<DimConstraint> pairs = open_ ? open_->pairs() : std::vector<DimConstraint>();
    out.artifact = emit_artifact({entries_, models(), plans_, weights, code_, options_.labels, section, pairs},
                                 {"gcc-graph 0.1.0", source_hash, "", graph_.name, options_.metadata});
    verify_own(out.artifact);
    for (const Plan& p : plans_) {
      out.plans.push_back(report_plan(p, targets_[static_cast<size_t>(p.target)]));
      if (models() > 1 && !p.is_load_time_packing)
        out.plans.back().entry = entries_[static_cast<size_t>(p.entry_point)]->name;
    }
    out.weight_bytes = static_cast<int64_t>(weights.bytes());
    for (const TargetCode& c : code_) out.code_bytes += static_cast<int64_t>(c.blob.code.size());
    out.remarks = std::move(remarks_);
    out.faster = faster_options(plans_, targets_, interface);
    return out;
  }

 private:
  void stage(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  /// Pairs inputs and outputs of all graphs as states (options_.states).
  Graph with_states(Graph graph) {
    std::vector<Graph*> graphs = {&graph};
    for (Graph& other : more_) graphs.push_back(&other);
    pair_states(graphs, options_.states, options_.state_capacity, options_.cache_window);
    for (Graph& other : more_) infer_graph(other);
    return graph;
  }

  Graph inferred(Graph graph) const {
    stage("passes");
    infer_graph(graph);
    return graph;
  }

  /// The model with the values of `keep` as additional outputs, so that passes do not remove them. Nullopt if `keep` is
  /// empty.
  std::optional<Graph> with_kept_values() const {
    if (options_.keep.empty()) return std::nullopt;
    Graph fetchable_graph = graph_.clone();
    keep_values(fetchable_graph, options_.keep);
    return fetchable_graph;
  }

  /// The sets of extents from --dim, for a graph whose inputs no longer have the symbols `settled`.
  std::vector<SymbolValues> sets(const SymbolValues& settled) const {
    std::vector<SymbolValues> all = shape_sets(without_settled(options_.dims, settled));
    for (SymbolValues& set : all)
      for (const auto& [symbol, other] : options_.same_dims)
        if (const auto known = set.find(other); known != set.end() && settled.count(symbol) == 0)
          set.try_emplace(symbol, known->second);
    return all;
  }

  bool run_model_passes() {
    const std::vector<PassGroup>& groups = model_passes();
    const std::vector<Shape> declared = input_shapes(graph_);
    if (!run_passes(graph_, {groups.front()}, nullptr, options_.passes)) return false;
    settled_ = settled_since(declared, graph_);
    Graph ranked = graph_.clone();
    if (!run_passes(graph_, {groups.begin() + 1, groups.end()}, nullptr, options_.passes)) return false;
    // States keep their extents from run to run, so their graphs assume equal ones.
    if (!graph_.states.empty()) return true;
    open_ = OpenModel::make(std::move(ranked), options_.passes);
    if (open_ && !open_->fits(graph_)) open_.reset();
    return true;
  }

  /// Plans the whole model: for each set of extents, then for the runs that the other plans do not serve.
  bool plan_model() {
    if (!open_) return plan_entry(graph_, whole_targets_, sets(settled_));
    entries_.push_back(&graph_);
    for (const Target& device : one_per_device(whole_targets_))
      for (const SymbolValues& fixed : sets(settled_)) {
        const bool broadcasts = open_->broadcasts_with(fixed);
        Graph graph = broadcasts ? open_->specialised(fixed, options_.passes) : specialise(graph_, fixed);
        const size_t first = plans_.size();
        const std::vector<DimConstraint> assumed = open_->assumed(broadcasts ? graph : graph_, fixed);
        if (!plan(std::move(graph), device, fixed, whole_targets_)) return false;
        for (size_t p = first; p < plans_.size(); ++p) plans_[p].assumed = assumed;
      }
    return plan_open();
  }

  /// If the graph for all runs cannot be planned, the plans' assumptions stay constraints of the model.
  bool plan_open() {
    const size_t count = plans_.size(), remarks = remarks_.size();
    try {
      for (const Target& device : one_per_device(whole_targets_))
        if (!plan(open_->graph().clone(), device, {}, whole_targets_)) return false;
    } catch (const InternalError&) {
      throw;
    } catch (const CompileError&) {
      open_.reset();
      plans_.resize(count);
      for (Plan& p : plans_) p.assumed.clear();
    }
    remarks_.resize(remarks);  // drops diagnostics that the plans for equal extents also made
    return true;
  }

  /// Inputs, outputs and constraints of the whole model as its users see them.
  Graph model_interface() const {
    Graph interface = graph_.clone();
    if (!open_) return interface;
    interface.constraints = open_->graph().constraints;
    for (size_t i = 0; i < interface.outputs.size(); ++i)
      interface.value(interface.outputs[i]).shape = open_->graph().value(open_->graph().outputs[i]).shape;
    return interface;
  }

  /// Partitions the model for the fleet. Each part becomes an entry point with its own plans.
  bool plan_parts(std::optional<Graph> fetchable_graph) {
    stage("cut");
    if (fetchable_graph && !run_passes(*fetchable_graph, model_passes(), nullptr, options_.passes)) return false;
    for (UnmatchedRequest& idle : requests_.without_effect(graph_)) remarks_.push_back({{}, std::move(idle)});
    const std::vector<SymbolValues> all = sets(settled_);
    parted_ = best_parts({fetchable_graph ? *fetchable_graph : graph_, graph_.outputs.size(), *fleet_, cut_, requests_,
                          targets_, all, options_.passes});
    for (size_t p = 0; p < parted_->assembly.parts.size(); ++p) {
      std::vector<Target> targets = targets_;
      std::erase_if(targets, [&](const Target& t) { return !is_for(*parted_, static_cast<int>(p), *fleet_, t); });
      if (!plan_entry(parted_->assembly.parts[p].graph, targets,
                      shape_sets_of_part(*parted_, static_cast<int>(p), all)))
        return false;
    }
    return true;
  }

  /// Plans the next entry point for these targets and sets of extents.
  bool plan_entry(const Graph& graph, const std::vector<Target>& targets, const std::vector<SymbolValues>& sets) {
    entries_.push_back(&graph);
    for (const Target& device : one_per_device(targets))
      for (const SymbolValues& fixed : sets)
        if (!plan(specialise(graph, fixed), device, fixed, targets)) return false;
    return true;
  }

  /// Plans the last entry point with these extents, for all targets of the device's class. Returns false if
  /// --stop-after ended the work.
  bool plan(Graph specialised, const Target& device, const SymbolValues& fixed, const std::vector<Target>& targets) {
    const DeviceTraits& traits = traits_of(device.device);
    const bool is_part = entries_.size() > models();
    const std::string entry = is_part               ? concat("part ", entries_.size() - models() - 1, " ")
                              : entries_.size() > 1 ? concat(specialised.name, " ")
                                                    : "";
    stage(concat("plan ", device.name, " ", entry, describe(fixed)));
    if (!run_passes(specialised, shape_passes(), &device, options_.passes)) return false;
    bind_parameters(specialised, options_.parameters);
    if (!run_passes(specialised, device_passes(device.device, !options_.parameters.empty()), &device, options_.passes))
      return false;
    Plan shared = make_plan(specialised, device.device);
    shared.entry_point = static_cast<int>(entries_.size()) - 1;
    shared.fixed = fixed;
    if (traits.has_streams) mark_constant_operands(shared);
    std::optional<LibraryCalls> calls;
    if (traits.has_libraries && options_.libraries.binder) calls.emplace(shared, targets_, options_.libraries);
    if (!is_part) remark_on(specialised, shared, calls);
    if (options_.memory_limit) {  // reports an arena that is too large before code generation
      auto effect = fit_memory(shared, specialised, *options_.memory_limit, machine_of(device));
      if (effect) remarks_.push_back({plans_of(shared), std::move(*effect)});
    }
    for (size_t t = 0; t < targets_.size(); ++t) {
      const bool is_requested =
          std::any_of(targets.begin(), targets.end(), [&](const Target& w) { return w.name == targets_[t].name; });
      if (targets_[t].device != device.device || !is_requested) continue;
      plans_.push_back(shared);
      plans_.back().target = static_cast<int>(t);
      plans_.back().machine = &machine_of(targets_[t]);
      if (calls) calls->bind(plans_.back(), targets_[t]);
    }
    return true;
  }

  /// Records the diagnostics for all plans that are copies of `shared`, the plan of `graph`.
  void remark_on(const Graph& graph, const Plan& shared, const std::optional<LibraryCalls>& calls) {
    const auto say = [&](auto fact) { remarks_.push_back({plans_of(shared), std::move(fact)}); };
    for (RepeatedWork& work : repeated_work(graph, shared.device)) say(std::move(work));
    if (!traits_of(shared.device).has_streams) {
      if (options_.precision != Precision::fp32) say(narrowed_weights(graph));
      return;
    }
    if (calls && !options_.libraries.fallbacks)
      for (auto& unused : unused_libraries(shared, *options_.libraries.binder, calls->outcomes()))
        std::visit(say, std::move(unused));
    for (HostWait& wait : host_waits(shared)) say(std::move(wait));
  }

  /// The fleet plan's section: how parts make up the model and where they run. Empty if the model has no parts.
  std::vector<uint8_t> assembly() const {
    if (!parted_) return {};
    return place_groups(*parted_, plans_,
                        emit_assembly(parted_->assembly, parted_->model_outputs, *fleet_,
                                      describe_groups(*parted_, *fleet_, plans_, targets_, sets(settled_))));
  }

  void select_code_of_all(const Backends& backends) {
    CodeStages stages(options_.progress, targets_.size());
    for (size_t t = 0; t < targets_.size(); ++t) {
      const KernelProgress::Scope observed(stages.begin(targets_[t].name));
      code_.push_back({targets_[t], select_code(targets_[t], static_cast<int>(t), plans_, backends, options_.threads)});
    }
  }

  /// The number of entry points that are models; parts follow.
  size_t models() const { return 1 + more_.size(); }

  const CompileOptions& options_;
  std::vector<Graph> more_;
  const std::vector<ModeRule> rules_;  // by entry point that is a model
  Graph graph_;
  SymbolValues settled_;  // the input extents of graph_ that settle-extents found
  const std::vector<Target> targets_;
  const std::vector<Target> whole_targets_;
  CutOptions cut_;
  const std::optional<Fleet> fleet_;
  const NodeRequests requests_;
  std::vector<Remark> remarks_;
  const std::map<std::string, DType> types_;  // the widest float type, by source node
  std::optional<OpenModel> open_;
  std::optional<PartedModel> parted_;
  std::vector<const Graph*> entries_;  // by Plan::entry_point
  std::vector<Plan> plans_;
  std::set<const Tensor*> packing_sources_;
  std::vector<TargetCode> code_;
};

}  // namespace

CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options,
                      const Backends& backends, std::vector<NamedGraph> more) {
  std::vector<Graph> others;
  std::optional<TrainedParameters> trained;
  if (options.train) {
    TrainingEntries entries =
        make_training_entries(std::move(graph), options.train->parameters, options.train->options);
    graph = std::move(entries.infer);
    others = entries.take_others();
    trained = std::move(entries.report);
  }
  for (NamedGraph& named : more) {
    others.push_back(std::move(named.graph));
    others.back().name = std::move(named.name);
  }
  std::vector<ModeRule> rules =
      mode_rules(graph, others, options.train ? &options.train->options : nullptr, trained ? &*trained : nullptr);
  Compilation compilation(std::move(graph), std::move(others), std::move(rules), options);
  if (!compilation.run(backends)) return {};
  CompileResult result = compilation.result(source_hash);
  if (trained) result.remarks.insert(result.remarks.begin(), {{}, std::move(*trained)});
  return result;
}

}  // namespace gcg
