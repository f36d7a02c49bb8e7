#include "compiler/best_parts.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/kernel/device_traits.h"
#include "compiler/passes/specialise.h"
#include "compiler/place/assembly_problem.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/requested_targets.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr double kGain = 0.99;         // a cut with more groups must take less than this share of the best time
constexpr int64_t kMostNodes = 2'000;  // larger models get no comparison of cuts, because each cut is planned
constexpr size_t kMostGroups = 500;    // a cut with more groups is not planned

/// A cut and its placement.
struct Candidate {
  PartedModel parts;
  std::vector<int> device;  // per group
  double us = std::numeric_limits<double>::infinity();

  size_t groups() const { return parts.assembly.cut.groups.size(); }
};

class Comparison {
 public:
  explicit Comparison(const PartsRequest& request) : request_(request), cut_(request.cut) {
    passes_.disabled = request.passes.disabled;
    passes_.verify = request.passes.verify;
  }

  PartedModel run() {
    best_.parts = parts();
    if (!worth_comparing(best_)) return std::move(best_.parts);
    place(best_);
    // The other default rules, support,chains,stages, already separate chains.
    if (default_rules(request_.fleet) == std::vector<CutRule>{CutRule::support}) {
      cut_.rules = {CutRule::support, CutRule::chains};
      if (!keep_if_better()) cut_.rules.clear();
    }
    join();
    return std::move(best_.parts);
  }

 private:
  PartedModel parts() const {
    return take_apart(request_.model, request_.model_outputs, request_.fleet, cut_, request_.requests);
  }

  bool worth_comparing(const Candidate& c) const {
    if (!request_.cut.rules.empty() || request_.model.node_count() > kMostNodes) return false;
    const std::vector<Group>& groups = c.parts.assembly.cut.groups;
    return groups.size() > 1 || (groups.size() == 1 && groups.front().support.size() > 1);
  }

  void join() {
    cut_.placed = best_.device;
    const size_t groups = best_.groups();
    if (groups < 2) return;
    keep_if_better();
    cut_.divide_joined = true;
    keep_if_better();
  }

  /// Tries the cut of `cut_`. A cut that cannot be placed counts as worse.
  bool keep_if_better() {
    Candidate other{parts(), {}};
    if (other.groups() == best_.groups() || other.groups() > kMostGroups) return false;
    place(other);
    const bool better = other.groups() < best_.groups() ? other.us <= best_.us : other.us < kGain * best_.us;
    if (better) best_ = std::move(other);
    return better;
  }

  void place(Candidate& c) const {
    try {
      const std::vector<Plan> plans = planned(c.parts);
      const AssemblyPlacement groups = describe_groups(c.parts, request_.fleet, plans, request_.targets, request_.sets);
      const auto placed = unpack_assembly(
          place_groups(c.parts, plans, emit_assembly(c.parts.assembly, c.parts.model_outputs, request_.fleet, groups)));
      for (const auto& group : placed.groups) c.device.push_back(static_cast<int>(group->device));
      c.us = placed.predicted;
    } catch (const InternalError&) {
      throw;
    } catch (const CompileError&) {  // the compilation of the default cut reports the reason
      c.device.clear();
    }
  }

  /// Plans all parts for their first set of extents. Their kernels have no code.
  std::vector<Plan> planned(const PartedModel& parts) const {
    std::vector<Plan> plans;
    for (size_t p = 0; p < parts.assembly.parts.size(); ++p) {
      const auto part = static_cast<int>(p);
      std::vector<Target> targets = request_.targets;
      std::erase_if(targets, [&](const Target& t) { return !is_for(parts, part, request_.fleet, t); });
      const SymbolValues fixed = shape_sets_of_part(parts, part, request_.sets).at(0);
      for (const Target& device : one_per_device(targets)) {
        Plan shared = planned(specialise(parts.assembly.parts[p].graph, fixed), device);
        shared.entry_point = part + 1;
        shared.fixed = fixed;
        for (size_t t = 0; t < request_.targets.size(); ++t) {
          if (request_.targets[t].device != device.device) continue;
          plans.push_back(shared);
          plans.back().target = static_cast<int>(t);
          plans.back().machine = &machine_of(request_.targets[t]);
        }
      }
    }
    return plans;
  }

  Plan planned(Graph graph, const Target& device) const {
    run_passes(graph, shape_passes(), &device, passes_);
    run_passes(graph, device_passes(device.device), &device, passes_);
    Plan plan = make_plan(graph, device.device);
    plan_memory(plan, std::nullopt);
    return plan;
  }

  const PartsRequest& request_;
  PassOptions passes_;  // prints nothing
  CutOptions cut_;
  Candidate best_;
};

}  // namespace

PartedModel best_parts(const PartsRequest& request) { return Comparison(request).run(); }

}  // namespace gcg
