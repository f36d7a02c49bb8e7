#include <algorithm>
#include <memory>

#include "compiler/fleet/fleet_tables.h"
#include "compiler/fleet/measures.h"
#include "compiler/place/assembly_problem.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

/// The number of the old device whose groups this device takes over: the one with the same name, otherwise the first of
/// the same kind. old.size() if there is none.
size_t like(const fb::FleetDeviceT& device, const std::vector<std::unique_ptr<fb::FleetDeviceT>>& old) {
  const auto alike = [&](const auto& d) {
    const bool one_code = d->target == device.target || d->target.empty() || device.target.empty();
    return d->kind == device.kind && one_code && d->supports == device.supports && d->denies == device.denies;
  };
  auto found = std::find_if(old.begin(), old.end(), [&](const auto& d) { return d->name == device.name && alike(d); });
  if (found == old.end()) found = std::find_if(old.begin(), old.end(), alike);
  return static_cast<size_t>(found - old.begin());
}

std::string names_of(const std::vector<std::unique_ptr<fb::FleetDeviceT>>& devices) {
  std::string text;
  for (const auto& d : devices) text += (text.empty() ? "'" : ", '") + d->name + "'";
  return text;
}

}  // namespace

void move_to_fleet(fb::AssemblyT& a, const Fleet& fleet) {
  const std::vector<std::unique_ptr<fb::FleetDeviceT>> old = std::move(a.devices);
  a.devices.clear();
  std::vector<size_t> source;
  for (const FleetDevice& d : fleet.devices) {
    a.devices.push_back(emit_device(d));
    source.push_back(d.infers ? like(*a.devices.back(), old) : old.size());
  }
  a.links.clear();
  for (const FleetLink& l : fleet.links) a.links.push_back(emit_link(l));
  for (const auto& g : a.groups) {
    const std::vector<uint32_t> support = std::move(g->support);
    const std::vector<double> predicted = std::move(g->predicted);
    const uint32_t was_on = g->device;
    g->support.clear();
    g->predicted.clear();
    g->crossing.clear();  // extra times were measured on the old fleet
    for (size_t d = 0; d < source.size(); ++d) {
      const auto at = std::find(support.begin(), support.end(), source[d]);
      if (at == support.end()) continue;
      const double faster =
          old[source[d]]->gflops > 0 && a.devices[d]->gflops > 0 ? a.devices[d]->gflops / old[source[d]]->gflops : 1;
      const auto i = static_cast<size_t>(at - support.begin());
      if (g->support.empty() || (source[d] == was_on && a.devices[d]->name == old[was_on]->name))
        g->device = static_cast<uint32_t>(d);
      g->support.push_back(static_cast<uint32_t>(d));
      g->predicted.push_back(i < predicted.size() ? bounded_microseconds(predicted[i] / faster) : 0);
    }
    if (g->support.empty())
      fail("group '", g->name, "' was compiled for ", names_of(old), ", and the fleet has no such device; it has ",
           names_of(a.devices));
  }
}

}  // namespace gcg
