#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/fleet/job.h"
#include "tools/gcc-graph/fleet/rank_inventory.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// "cpu:0-3  x86-64-v4, 31.2 GiB, 410 GFLOP/s, 38 GB/s; socket 0, L3 cache of 32 MiB, 4 cores"
void print(const Inventory& inventory) {
  for (size_t i = 0; i < inventory.fleet.devices.size(); ++i) {
    const FleetDevice& device = inventory.fleet.devices[i];
    std::string facts = device.target.empty() ? "no target has code for it" : device.target;
    const auto add = [&](double value, const char* unit) {
      char text[64];
      std::snprintf(text, sizeof text, ", %.1f %s", value, unit);
      if (value > 0) facts += text;
    };
    add(static_cast<double>(device.memory_bytes) / (1 << 30), "GiB");
    add(device.gflops, "GFLOP/s");
    add(device.gbytes_per_s, "GB/s");
    std::cout << device.name << "  " << facts << "; " << inventory.about[i] << '\n';
  }
  for (const FleetLink& link : inventory.fleet.links) {
    const auto name = [&](int device) { return inventory.fleet.devices[static_cast<size_t>(device)].name; };
    char facts[64];
    std::snprintf(facts, sizeof facts, "  %.1f GB/s, %.1f us\n", link.gbytes_per_s, link.us);
    std::cout << name(link.from) << " -> " << name(link.to) << facts;
  }
  for (const std::string& remark : inventory.remarks) std::cout << remark << '\n';
}

}  // namespace

void add_devices_command(CLI::App& app) {
  struct Arguments {
    bool probe = false, json = false;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand(
      "devices", "List the devices of this machine, or of all processes in a job, as --device and --fleet take them");
  c->add_flag("--probe", a->probe, "Measure f32 rates, bandwidths and links, about a second");
  c->add_flag("--json", a->json, "Print JSON, in the form that --fleet reads");
  c->callback([a] {
    in_job(
        [&](const gart::fleet::Hosts* hosts) {
          const Inventory inventory =
              hosts == nullptr ? take_inventory(a->probe) : inventory_of_ranks(*hosts, a->probe);
          if (a->json)
            std::cout << gcc_graph::print_fleet(inventory.fleet);
          else
            print(inventory);
        },
        serve_inventory);
  });
}

}  // namespace gcg::tools
