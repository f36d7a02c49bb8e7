#include "compiler/cut_report.h"

#include <algorithm>
#include <map>

#include "compiler/partition/cut_cost.h"
#include "compiler/place/assembly_problem.h"

namespace gcg {
namespace {

const Plan* first_plan(int entry_point, int target, const std::vector<Plan>& plans) {
  const auto found = std::find_if(plans.begin(), plans.end(), [&](const Plan& p) {
    return !p.is_load_time_packing && p.entry_point == entry_point && p.target == target;
  });
  return found == plans.end() ? nullptr : &*found;
}

int64_t launches_of(const Plan& plan) {
  int64_t launches = 0;
  for (const Sequence& sequence : plan.sequences)
    launches += std::count_if(sequence.steps.begin(), sequence.steps.end(), [](const Step& step) {
      return step.as<Launch>() != nullptr || step.as<Call>() != nullptr;
    });
  return launches;
}

std::vector<TargetLaunches> launches(const Assembly& assembly, const std::vector<Plan>& plans,
                                     const std::vector<Target>& targets) {
  std::vector<TargetLaunches> rows;
  for (int t = 0; t < static_cast<int>(targets.size()); ++t) {
    const Plan* whole = first_plan(0, t, plans);
    TargetLaunches row{targets[static_cast<size_t>(t)].name, whole == nullptr ? 0 : launches_of(*whole), 0};
    bool complete = whole != nullptr;
    for (const PartCall& call : assembly.calls) {
      const Plan* part = first_plan(call.part + 1, t, plans);
      complete = complete && part != nullptr;
      if (part != nullptr) row.parts += launches_of(*part);
    }
    if (complete) rows.push_back(std::move(row));
  }
  return rows;
}

/// Weights plus the arena, if its size is known.
int64_t bytes_of(const Plan& plan) {
  std::map<const Tensor*, int64_t> weights;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.kind == Buffer::Kind::constant) weights[buffer.constant.get()] = buffer.constant->bytes();
  int64_t bytes = plan.memory.layout.bytes;
  for (const auto& [tensor, size] : weights) bytes += size;
  return bytes;
}

/// False if the first plan of the whole model for this kind of device exceeds the device's memory.
bool has_room(const FleetDevice& device, const std::vector<Plan>& plans, const std::vector<Target>& targets) {
  if (device.memory_bytes == 0) return true;
  for (size_t t = 0; t < targets.size(); ++t)
    if (const Plan* plan = first_plan(0, static_cast<int>(t), plans);
        plan != nullptr && targets[t].device == device.kind)
      return bytes_of(*plan) <= device.memory_bytes;
  return true;
}

/// Adds the whole model on the fastest device that runs all groups.
void add_whole(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
               const std::vector<Target>& targets, CutReport& report) {
  for (size_t d = 0; d < fleet.devices.size(); ++d) {
    const std::vector<Group>& groups = model.assembly.cut.groups;
    const bool supports = std::all_of(groups.begin(), groups.end(), [&](const Group& g) {
      return std::count(g.support.begin(), g.support.end(), static_cast<int>(d)) > 0;
    });
    const bool fits = supports && has_room(fleet.devices[d], plans, targets);
    const double us = fits ? estimate_of_entry(0, fleet.devices[d], plans, targets) : 0;
    if (us <= 0 || (report.whole_us > 0 && report.whole_us <= us)) continue;
    report.whole_us = us;
    report.whole_on = fleet.devices[d].name;
  }
}

/// A value leaves its group once, and enters each group that reads it.
void add_bytes(const gart::fb::AssemblyT& placed, CutReport& report) {
  for (const place::Value& v : problem_of(placed, {}).values) {
    if (v.producer == place::kCaller || v.readers.empty()) continue;
    report.groups[static_cast<size_t>(v.producer)].bytes_out += v.bytes;
    for (int reader : v.readers) report.groups[static_cast<size_t>(reader)].bytes_in += v.bytes;
  }
}

}  // namespace

CutReport report_cut(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
                     const std::vector<Target>& targets, const std::vector<uint8_t>& section) {
  const gart::fb::AssemblyT placed = unpack_assembly(section);
  const std::vector<GroupCost> costs = cost_of_cut(model.assembly);
  CutReport report;
  report.rules = placed.cut;
  report.predicted_us = placed.predicted;
  for (size_t g = 0; g < costs.size(); ++g) {
    const gart::fb::GroupT& group = *placed.groups[g];
    GroupReport& row = report.groups.emplace_back();
    row.name = group.name;
    row.device = placed.devices[group.device]->name;
    for (uint32_t d : group.support) row.devices.push_back(placed.devices[d]->name);
    row.nodes = static_cast<int64_t>(model.assembly.cut.groups[g].nodes.size());
    row.calls = costs[g].calls;
    row.fusions_lost = costs[g].fusions_lost;
  }
  add_bytes(placed, report);
  report.launches = launches(model.assembly, plans, targets);
  add_whole(model, fleet, plans, targets, report);
  return report;
}

}  // namespace gcg
