#include "gcc_graph/fleet.h"

#include <algorithm>
#include <utility>

#include "codegen/cuda/assembler/nvrtc.h"
#include "compiler/fleet/fleet.h"
#include "compiler/fleet/measures.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"
#include "tools/api/fleet_state.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {
namespace detail {

/// Converts between the public and the compiler's Fleet, which have the same fields.
template <class To, class From>
To converted(From from) {
  To to;
  for (auto& d : from.devices)
    to.devices.push_back({std::move(d.name), static_cast<decltype(to.devices[0].kind)>(d.kind), std::move(d.cores),
                          d.ordinal, std::move(d.target), std::move(d.host), d.memory_bytes, std::move(d.supports),
                          std::move(d.denies), d.infers, d.trains, d.gflops, d.gbytes_per_s});
  for (const auto& l : from.links) to.links.push_back({l.from, l.to, l.gbytes_per_s, l.us});
  return to;
}

gcg::Fleet own_fleet(const Fleet& fleet) {
  auto own = converted<gcg::Fleet>(fleet);
  gcg::check_measures(own);
  return own;
}

}  // namespace detail

Fleet parse_fleet(const std::string& json, const std::string& source) {
  return detail::guarded([&] { return detail::converted<Fleet>(gcg::parse_fleet(json, source)); });
}

std::string print_fleet(const Fleet& fleet) { return gcg::print_fleet(detail::own_fleet(fleet)); }

static_assert(kTypicalExtent == gcg::kTypicalExtent);

namespace {

/// Multiply-adds per clock of one processor on the unit that a kernel's note names.
double rate_of_unit(const gcg::Machine& gpu, const std::string& note) {
  const auto has = [&](const char* word) { return note.find(word) != std::string::npos; };
  const double of_half = has("wgmma") ? gpu.warpgroup_rate : gpu.half_rate;
  if (has("3xtf32")) return of_half / 6;  // three products for each pair of factors, at half the rate
  if (has("tf32")) return of_half / 2;
  return has("f16") ? of_half : gpu.scalar_rate;  // f16 and bf16
}

}  // namespace

Rates rates_of_gpu(const std::string& target, const std::string& note) {
  return detail::guarded([&] {
    const gcg::Machine& gpu = gcg::machine_of(gcg::require_targets({target}).front());
    return Rates{2 * gpu.processors * gpu.gigahertz * rate_of_unit(gpu, note), gpu.bytes_per_second * 1e-9};
  });
}

std::string target_of_sm(int sm) {
  for (const std::string& name : {gcg::concat("sm_", sm, "a"), gcg::concat("sm_", sm)})
    if (gcg::find_target(name)) return name;
  return sm >= gcg::find_target("ptx")->sm ? "ptx" : "";
}

std::string target_for_driver(int sm, int driver) {
  return detail::guarded([&] {
    const std::string name = target_of_sm(sm);
    if (name.empty()) gcg::fail("there is no such target");
    gcg::cuda::Nvrtc::for_driver(driver, name == "ptx");
    // A cubin loads on all drivers of one major version. PTX loads only on drivers that know its version.
    const int oldest = name == "ptx" ? driver : std::max(driver / 1000 * 1000, gcg::kOldestDriver);
    return gcg::concat(name, ":", oldest / 1000, ".", oldest % 1000 / 10);
  });
}

}  // namespace gcc_graph
