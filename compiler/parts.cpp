#include "compiler/parts.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/kernel/device_traits.h"
#include "compiler/place/assembly_problem.h"
#include "compiler/place/estimate.h"
#include "compiler/support/error.h"
#include "compiler/support/name_list.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

std::vector<std::string> names_of_values(const Graph& graph) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(graph.value_count()));
  for (int64_t i = 0; i < graph.value_count(); ++i) names.push_back(graph.value(ValueId(i)).name);
  return names;
}

/// Evaluates `d` with these values; nullopt if symbols remain.
std::optional<int64_t> value_of(const Dim& d, const std::map<std::string, Dim>& values) {
  const Dim known = d.substitute(values);
  return known.is_constant() ? std::optional(known.constant()) : std::nullopt;
}

/// The values of the part's symbols in a call, as far as the model's symbols determine them.
SymbolValues symbols_of_call(const PartedModel& model, const PartCall& call, const SymbolValues& fixed) {
  const Part& part = model.assembly.parts[static_cast<size_t>(call.part)];
  const std::map<std::string, Dim> values(fixed.begin(), fixed.end());
  SymbolValues out;
  const auto note = [&](const std::string& symbol, const Dim& in_model) {
    if (const auto value = value_of(in_model, values)) out[symbol] = *value;
  };
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Shape& own = *part.graph.value(part.graph.inputs[i]).shape;
    const Shape& outer = *model.assembly.graph.value(call.inputs[i]).shape;
    for (size_t axis = 0; axis < own.size(); ++axis)
      if (const auto symbol = own[axis].symbol_name()) note(*symbol, outer[axis]);
  }
  for (size_t i = 0; i < call.extents.size(); ++i) note(part.extents[i], call.extents[i]);
  return out;
}

bool runs_code_for(const FleetDevice& device, const Target& target) {
  return device.kind == target.device && (device.target.empty() || device.target == target.name);
}

/// The weights that plans of the group's parts read, with their bytes.
GroupWeights::value_type weights_of_group(const PartedModel& model, int group, const std::vector<Plan>& plans) {
  std::map<const Tensor*, int64_t> weights;
  for (const PartCall& call : model.assembly.calls)
    for (const Plan& plan : plans)
      if (call.group == group && plan.entry_point == call.part + 1)
        for (const Buffer& b : plan.buffers)
          if (b.kind == Buffer::Kind::constant) weights[b.constant.get()] = b.constant->bytes();
  GroupWeights::value_type out;
  for (const auto& [tensor, bytes] : weights) out.push_back({reinterpret_cast<uintptr_t>(tensor), bytes});
  return out;
}

}  // namespace

void keep_values(Graph& graph, const std::vector<std::string>& lists) {
  if (lists.empty()) return;
  std::map<std::string, ValueId> values;
  for (int64_t i = 0; i < graph.value_count(); ++i) values.emplace(graph.value(ValueId(i)).name, ValueId(i));
  std::set<std::string> known;
  for (const auto& [name, value] : values) known.insert(name);
  for (const std::string& name : split_names(lists, known)) {
    const auto value = values.find(name);
    if (value == values.end())
      fail("--keep '", name, "': the model has no such value", nearest(name, names_of_values(graph)));
    if (!graph.is_output(value->second)) graph.outputs.push_back(value->second);
  }
}

PartedModel take_apart(const Graph& model, size_t model_outputs, const Fleet& fleet, const CutOptions& cut,
                       const NodeRequests& requests) {
  const std::vector<ValueId> kept_values(model.outputs.begin() + static_cast<ptrdiff_t>(model_outputs),
                                         model.outputs.end());
  return {split(model, cut_graph(model, fleet, cut, requests), kept_values), model_outputs};
}

std::vector<SymbolValues> shape_sets_of_part(const PartedModel& model, int part,
                                             const std::vector<SymbolValues>& model_sets) {
  std::vector<SymbolValues> sets;
  for (const SymbolValues& fixed : model_sets)
    for (const PartCall& call : model.assembly.calls) {
      if (call.part != part) continue;
      SymbolValues values = symbols_of_call(model, call, fixed);
      if (std::find(sets.begin(), sets.end(), values) == sets.end()) sets.push_back(std::move(values));
    }
  // The set with the most open symbols comes last: it is the fallback for extents that no other set covers.
  std::stable_sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return sets;
}

void check_targets(const Fleet& fleet, const std::vector<Target>& targets) {
  for (const FleetDevice& device : fleet.devices) {
    if (std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return runs_code_for(device, t); }))
      continue;
    std::string requested;
    for (const Target& t : targets) requested += (requested.empty() ? "" : ", ") + t.name;
    fail("device '", device.name, "' of the fleet runs code for ",
         device.target.empty() ? concat("a ", traits_of(device.kind).name) : device.target, ", but the targets are ",
         requested, ": name its target with --target");
  }
}

bool is_for(const PartedModel& model, int part, const Fleet& fleet, const Target& target) {
  const Assembly& a = model.assembly;
  return std::any_of(a.calls.begin(), a.calls.end(), [&](const PartCall& call) {
    const std::vector<int>& support = a.cut.groups[static_cast<size_t>(call.group)].support;
    return call.part == part && std::any_of(support.begin(), support.end(), [&](int d) {
             return runs_code_for(fleet.devices[static_cast<size_t>(d)], target);
           });
  });
}

double estimate_of_entry(int entry_point, const FleetDevice& device, const std::vector<Plan>& plans,
                         const std::vector<Target>& targets) {
  for (const Plan& plan : plans)
    if (!plan.is_load_time_packing && plan.entry_point == entry_point &&
        runs_code_for(device, targets[static_cast<size_t>(plan.target)]))
      return estimate_us(plan, device);
  return 0;
}

AssemblyPlacement describe_groups(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
                                  const std::vector<Target>& targets, const std::vector<SymbolValues>& sets) {
  const Assembly& a = model.assembly;
  AssemblyPlacement out;
  if (!sets.empty()) out.typical = sets.front();
  out.weight_bytes.resize(a.cut.groups.size());
  out.peak_bytes.resize(a.cut.groups.size());
  for (const Group& g : a.cut.groups) {
    out.device.push_back(g.support.front());
    out.operation.emplace_back(g.support.size());
  }
  out.begin.resize(a.calls.size());
  out.end.resize(a.calls.size());
  for (const PartCall& call : a.calls) {
    const auto group = static_cast<size_t>(call.group);
    for (const Plan& plan : plans)
      if (plan.entry_point == call.part + 1)
        out.peak_bytes[group] = std::max(out.peak_bytes[group], plan.memory.layout.bytes);
    const std::vector<int>& support = a.cut.groups[group].support;
    for (size_t i = 0; i < support.size(); ++i)
      out.operation[group][i] +=
          estimate_of_entry(call.part + 1, fleet.devices[static_cast<size_t>(support[i])], plans, targets);
  }
  for (size_t g = 0; g < a.cut.groups.size(); ++g)
    for (const GroupWeight& w : weights_of_group(model, static_cast<int>(g), plans)) out.weight_bytes[g] += w.bytes;
  return out;
}

std::vector<uint8_t> place_groups(const PartedModel& model, const std::vector<Plan>& plans,
                                  const std::vector<uint8_t>& assembly) {
  GroupWeights weights;
  for (size_t g = 0; g < model.assembly.cut.groups.size(); ++g)
    weights.push_back(weights_of_group(model, static_cast<int>(g), plans));
  return place_assembly(assembly, weights);
}

}  // namespace gcg
