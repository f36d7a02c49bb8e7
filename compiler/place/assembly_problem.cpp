#include "compiler/place/assembly_problem.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "artifact_schema/lane_limits.h"
#include "artifact_schema/shape_program.h"
#include "compiler/ir/dtype.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/place/place.h"
#include "compiler/place/simulate.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

void check(uint64_t number, size_t count, const char* what, const char* of, size_t at) {
  if (number >= count) fail("fleet plan: ", of, " ", at, " names ", what, " ", number, ", but there are only ", count);
}

void check_numbers(const fb::AssemblyT& a) {
  for (size_t i = 0; i < a.calls.size(); ++i) {
    check(a.calls[i]->group, a.groups.size(), "group", "call", i);
    for (const auto* list : {&a.calls[i]->inputs, &a.calls[i]->outputs})
      for (uint32_t v : *list) check(v, a.values.size(), "value", "call", i);
    for (uint32_t slot : a.calls[i]->extents) check(slot, a.symbols.size() + a.program.size(), "slot", "call", i);
  }
  for (size_t g = 0; g < a.groups.size(); ++g) {
    check(a.groups[g]->device, a.devices.size(), "device", "group", g);
    for (uint32_t d : a.groups[g]->support) check(d, a.devices.size(), "device", "group", g);
  }
  for (size_t l = 0; l < a.links.size(); ++l) {
    check(a.links[l]->from, a.devices.size(), "device", "link", l);
    check(a.links[l]->to, a.devices.size(), "device", "link", l);
  }
  for (size_t s = 0; s < a.symbols.size(); ++s) check(a.symbols[s]->value, a.values.size(), "value", "symbol", s);
  for (size_t v = 0; v < a.values.size(); ++v)
    if (a.values[v]->info == nullptr) fail("fleet plan: value ", v, " has no type");
}

/// Default for links that the fleet does not describe.
place::Link common_link(const fb::FleetDeviceT& from, const fb::FleetDeviceT& to) {
  constexpr double kNetworkBytes = 1e3, kNetwork = 50;  // bytes per microsecond, and microseconds of latency
  if (from.host != to.host) return {kNetworkBytes, kNetwork};
  // CPU pools of one host share memory.
  if (from.kind == fb::TargetKind::cpu && to.kind == fb::TargetKind::cpu) return {};
  return {kHostBytes, kHostCopy};
}

std::vector<place::Link> links_of(const fb::AssemblyT& a) {
  const size_t devices = a.devices.size();
  std::vector<place::Link> links(devices * devices);
  for (size_t from = 0; from < devices; ++from)
    for (size_t to = 0; to < devices; ++to)
      if (from != to) links[from * devices + to] = common_link(*a.devices[from], *a.devices[to]);
  for (const auto& l : a.links) {
    place::Link& link = links[l->from * devices + l->to];
    if (l->gbytes_per_s > 0) link.bytes_per_us = 1e3 * l->gbytes_per_s;
    link.us = l->us;
  }
  return links;
}

/// Values of slots, with every symbol at the extent for which the operation times hold.
gart::Slots typical_slots(const fb::AssemblyT& a) {
  gart::Slots slots(a.symbols.size() + a.program.size());
  for (size_t s = 0; s < a.symbols.size(); ++s)
    slots.set(s, a.symbols[s]->typical > 0 ? static_cast<int64_t>(a.symbols[s]->typical) : kTypicalExtent);
  gart::Status status = gart::verify_program(a.program, a.symbols.size());
  if (status.ok()) status = gart::evaluate(a.program, a.symbols.size(), slots);
  if (!status.ok()) fail("assembly: ", status.message);
  return slots;
}

constexpr int64_t kMostBytes = int64_t{1} << 42;  // upper limit for the bytes of a value

std::vector<place::Value> values_of(const fb::AssemblyT& a) {
  const gart::Slots slots = typical_slots(a);
  int home = place::kAnywhere;
  for (size_t d = 0; d < a.devices.size() && home == place::kAnywhere; ++d)
    if (a.devices[d]->kind == fb::TargetKind::cpu && a.devices[d]->host.empty()) home = static_cast<int>(d);
  std::vector<place::Value> values(a.values.size());
  for (size_t v = 0; v < values.size(); ++v) {
    values[v].bytes = size_of(static_cast<DType>(a.values[v]->info->dtype));
    for (uint32_t slot : a.values[v]->info->dims) {
      check(slot, slots.size(), "slot", "value", v);
      const int64_t extent = std::max<int64_t>(slots[slot], 0);  // typical values of symbols are guesses, so an extent
                                                                 // may come out negative
      values[v].bytes =
          values[v].bytes > kMostBytes / std::max<int64_t>(extent, 1) ? kMostBytes : values[v].bytes * extent;
    }
    if (a.values[v]->input >= 0) values[v].fixed_device = home;
    values[v].wanted = !a.values[v]->outputs.empty();
    values[v].wanted_on = home;
  }
  return values;
}

/// A group that needs extents of another group's values comes after that group, even if it does not read the values.
/// Values without bytes represent these extents.
void add_extents(const fb::AssemblyT& a, place::Problem& p) {
  std::set<std::pair<int, int>> known;  // producer and reader
  for (const place::Value& v : p.values)
    for (int r : v.readers) known.emplace(v.producer, r);
  for (const auto& call : a.calls) {
    if (call->extents.empty()) continue;
    std::vector<uint8_t> read(a.symbols.size() + a.program.size());
    for (uint32_t slot : call->extents) read[slot] = 1;
    gart::mark_operands(a.program, a.symbols.size(), read);
    for (size_t s = 0; s < a.symbols.size(); ++s) {
      const int producer = p.values[a.symbols[s]->value].producer, reader = static_cast<int>(call->group);
      if (read[s] == 0 || producer == place::kCaller || producer == reader) continue;
      if (!known.emplace(producer, reader).second) continue;
      place::Value extent;
      extent.producer = producer;
      extent.readers = {reader};
      p.values.push_back(std::move(extent));
    }
  }
}

/// Sets the producers and readers of values that cross groups.
void connect(const fb::AssemblyT& a, place::Problem& p) {
  for (const auto& call : a.calls)
    for (uint32_t v : call->outputs) p.values[v].producer = static_cast<int>(call->group);
  for (const auto& call : a.calls)
    for (uint32_t v : call->inputs) {
      std::vector<int>& readers = p.values[v].readers;
      const int group = static_cast<int>(call->group);
      if (p.values[v].producer != group && std::find(readers.begin(), readers.end(), group) == readers.end())
        readers.push_back(group);
    }
  add_extents(a, p);
  for (size_t v = 0; v < p.values.size(); ++v) {
    if (p.values[v].producer != place::kCaller)
      p.groups[static_cast<size_t>(p.values[v].producer)].outputs.push_back(static_cast<int>(v));
    for (int r : p.values[v].readers) p.groups[static_cast<size_t>(r)].inputs.push_back(static_cast<int>(v));
  }
}

void add_weights(const fb::AssemblyT& a, const GroupWeights& weights, place::Problem& p) {
  std::map<uint64_t, int> numbers;
  for (size_t g = 0; g < p.groups.size(); ++g) {
    if (weights.empty()) {
      p.groups[g].weights.push_back(static_cast<int>(p.weights.size()));
      p.weights.push_back(static_cast<int64_t>(a.groups[g]->weight_bytes));
      continue;
    }
    for (const GroupWeight& w : weights.at(g)) {
      const auto [it, added] = numbers.emplace(w.identity, static_cast<int>(p.weights.size()));
      if (added) p.weights.push_back(w.bytes);
      p.groups[g].weights.push_back(it->second);
    }
  }
}

/// True if producers come before readers. Calls of several groups may be interleaved.
bool runs(const place::Problem& problem, const std::vector<int>& order) {
  std::vector<size_t> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = i;
  for (const place::Value& v : problem.values)
    for (int r : v.readers)
      if (v.producer != place::kCaller && position[static_cast<size_t>(v.producer)] > position[static_cast<size_t>(r)])
        return false;
  return true;
}

}  // namespace

place::Problem problem_of(const fb::AssemblyT& a, const GroupWeights& weights) {
  check_numbers(a);
  place::Problem p;
  for (const auto& d : a.devices) {
    place::Device device{d->name, d->memory == 0 ? place::kEnough : static_cast<int64_t>(d->memory)};
    if (d->kind == fb::TargetKind::cpu) device.spins_us = 1e-3 * gart::kLaneSpinNs, device.wakes_us = kPoolWakes;
    p.devices.push_back(std::move(device));
  }
  p.links = links_of(a);
  for (const auto& g : a.groups) {
    place::Group group;
    group.name = g->name;
    group.us.assign(a.devices.size(), place::kUnsupported);
    if (!g->crossing.empty()) group.crossing_us.resize(a.devices.size());
    for (size_t i = 0; i < g->support.size(); ++i) {
      group.us[g->support[i]] = i < g->predicted.size() ? g->predicted[i] : 0;
      if (i < g->crossing.size()) group.crossing_us[g->support[i]] = g->crossing[i];
    }
    group.working_bytes = static_cast<int64_t>(g->peak_bytes);
    p.groups.push_back(std::move(group));
  }
  p.values = values_of(a);
  connect(a, p);
  add_weights(a, weights, p);
  return p;
}

place::Placement placement_of(const fb::AssemblyT& a, const place::Problem& problem) {
  place::Placement out;
  for (const auto& g : a.groups) out.device.push_back(static_cast<int>(g->device));
  std::vector<bool> seen(a.groups.size());
  for (const auto& call : a.calls) {
    if (!seen[call->group]) out.order.push_back(static_cast<int>(call->group));
    seen[call->group] = true;
  }
  for (size_t g = 0; g < seen.size(); ++g)
    if (!seen[g]) out.order.push_back(static_cast<int>(g));
  if (!runs(problem, out.order)) out.order = place::topological_order(problem);
  return out;
}

void apply(const place::Problem& problem, const place::Placement& placement, fb::AssemblyT& a) {
  const place::Timeline timeline = place::simulate(problem, placement);
  std::vector<int> position(a.groups.size()), calls(a.groups.size()), nth(a.groups.size());
  for (size_t i = 0; i < placement.order.size(); ++i)
    position[static_cast<size_t>(placement.order[i])] = static_cast<int>(i);
  for (size_t g = 0; g < a.groups.size(); ++g) a.groups[g]->device = static_cast<uint32_t>(placement.device[g]);
  std::stable_sort(a.calls.begin(), a.calls.end(),
                   [&](const auto& x, const auto& y) { return position[x->group] < position[y->group]; });
  for (const auto& call : a.calls) ++calls[call->group];
  for (const auto& call : a.calls) {  // the calls of a group share the group's time
    const double begin = timeline.begin[call->group], us = timeline.end[call->group] - begin;
    const int i = nth[call->group]++;
    call->predicted_begin = begin + us * i / calls[call->group];
    call->predicted_end = begin + us * (i + 1) / calls[call->group];
  }
  a.predicted = timeline.us;
}

std::vector<uint8_t> place_assembly(std::span<const uint8_t> section, const GroupWeights& weights) {
  fb::AssemblyT assembly = unpack_assembly(section);
  const place::Problem problem = problem_of(assembly, weights);
  const place::Placed result = place::place(problem);
  if (!result.placement) fail(place::describe(problem, result.failure));
  apply(problem, *result.placement, assembly);
  return pack_assembly(assembly);
}

fb::AssemblyT unpack_assembly(std::span<const uint8_t> section) {
  flatbuffers::Verifier verifier(section.data(), section.size());
  if (!fb::VerifyAssemblyBuffer(verifier)) fail("the fleet plan is damaged");
  fb::AssemblyT assembly;
  fb::GetAssembly(section.data())->UnPackTo(&assembly);
  return assembly;
}

std::vector<uint8_t> pack_assembly(const fb::AssemblyT& assembly) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishAssemblyBuffer(builder, fb::Assembly::Pack(builder, &assembly));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace gcg
