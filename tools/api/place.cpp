#include "gcc_graph/place.h"

#include <utility>

#include "compiler/place/assembly_problem.h"
#include "compiler/place/lanes.h"
#include "compiler/place/refine.h"
#include "compiler/place/simulate.h"
#include "tools/api/fleet_state.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {

namespace place = gcg::place;

namespace {

/// The two profile structs have the same fields.
template <class To, class From>
To converted(From from) {
  To to;
  to.artifact = std::move(from.artifact);
  to.run_us = from.run_us;
  to.run_noise_us = from.run_noise_us;
  for (auto& m : from.groups)
    to.groups.push_back({std::move(m.group), std::move(m.device), m.operation_us, m.idle_us, m.noise_us, m.begin_us,
                         m.runs, m.crossed});
  return to;
}

gcg::GroupWeights own_weights(const GroupWeights& weights) {
  gcg::GroupWeights own(weights.size());
  for (size_t g = 0; g < weights.size(); ++g)
    for (const GroupWeight& w : weights[g]) own[g].push_back({w.identity, w.bytes});
  return own;
}

place::Placement own_placement(const Placement& p) { return {p.device, p.order}; }
Placement given_placement(place::Placement p) { return {std::move(p.device), std::move(p.order)}; }

place::RefineOptions own_options(const RefineOptions& requested) {
  place::RefineOptions options;
  options.threshold = requested.threshold;
  options.noise_us = requested.noise_us;
  options.place.effort = requested.effort;
  return options;
}

}  // namespace

FleetProfile parse_fleet_profile(const std::string& json, const std::string& source) {
  return detail::guarded([&] { return converted<FleetProfile>(gcg::parse_fleet_profile(json, source)); });
}

std::string print_fleet_profile(const FleetProfile& profile) {
  return gcg::print_fleet_profile(converted<gcg::FleetProfile>(profile));
}

FleetProfile merged(const FleetProfile& earlier, const FleetProfile& later) {
  auto both = converted<gcg::FleetProfile>(earlier);
  both.merge(converted<gcg::FleetProfile>(later));
  return converted<FleetProfile>(std::move(both));
}

struct Placing::State {
  gart::fb::AssemblyT assembly;
  gcg::GroupWeights weights;

  place::Problem problem() const { return gcg::problem_of(assembly, weights); }
};

Placing::Placing(std::span<const uint8_t> section, GroupWeights weights) : state_(std::make_shared<State>()) {
  detail::guarded([&] { state_->assembly = gcg::unpack_assembly(section); });
  state_->weights = own_weights(weights);
}

std::vector<std::string> Placing::groups() const {
  std::vector<std::string> names;
  for (const auto& group : state_->assembly.groups) names.push_back(group->name);
  return names;
}

std::vector<std::string> Placing::devices() const {
  std::vector<std::string> names;
  for (const auto& device : state_->assembly.devices) names.push_back(device->name);
  return names;
}

bool Placing::runs_on(int group, int device) const {
  return detail::guarded([&] { return state_->problem().groups.at(static_cast<size_t>(group)).runs_on(device); });
}

Placement Placing::placement() const {
  return detail::guarded([&] { return given_placement(gcg::placement_of(state_->assembly, state_->problem())); });
}

double Placing::predicted_us() const { return state_->assembly.predicted; }

double Placing::predict(const Placement& placement) const {
  return detail::guarded([&] {
    const place::Problem problem = state_->problem();
    return place::simulate(problem, place::as_lanes_run(problem, own_placement(placement))).us;
  });
}

void Placing::put(const Placement& placement) {
  detail::guarded([&] {
    const place::Problem problem = state_->problem();
    for (size_t g = 0; g < problem.groups.size(); ++g)
      if (const int device = placement.device.at(g); !problem.groups[g].runs_on(device))
        gcg::fail("group '", problem.groups[g].name, "' does not run on device ", device);
    gcg::apply(problem, place::as_lanes_run(problem, own_placement(placement)), state_->assembly);
  });
}

void Placing::move_to(const Fleet& fleet) {
  detail::guarded([&] { gcg::move_to_fleet(state_->assembly, detail::own_fleet(fleet)); });
}

double Placing::correct(const FleetProfile& profile) {
  return detail::guarded([&] { return gcg::correct_times(state_->assembly, converted<gcg::FleetProfile>(profile)); });
}

Refined Placing::refine(const RefineOptions& options) {
  return detail::guarded([&] {
    const place::Problem problem = state_->problem();
    const place::Placement now = gcg::placement_of(state_->assembly, problem);
    const place::Refined refined = place::refine(problem, now, own_options(options));
    if (refined.failure) gcg::fail(place::describe(problem, *refined.failure));
    gcg::apply(problem, refined.placement, state_->assembly);
    return Refined{refined.us, refined.was_us, refined.moved, refined.by};
  });
}

NextRound Placing::next_round(const std::vector<PlacingRound>& rounds, const RefineOptions& options) const {
  return detail::guarded([&] {
    std::vector<place::Round> own;
    for (const PlacingRound& r : rounds)
      own.push_back({own_placement(r.placement), r.predicted_us, r.measured_us, r.noise_us});
    place::NextRound next = place::next_round(state_->problem(), own, own_options(options));
    return NextRound{next.stop, given_placement(std::move(next.placement)), next.predicted_us, std::move(next.why)};
  });
}

std::vector<uint8_t> Placing::section() const { return gcg::pack_assembly(state_->assembly); }

}  // namespace gcc_graph
