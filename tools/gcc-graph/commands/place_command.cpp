#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "gcc_graph/place.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/fleet/job.h"
#include "tools/gcc-graph/fleet/rank_inventory.h"
#include "tools/gcc-graph/fleet/read_fleet.h"
#include "tools/gcc-graph/fleet/read_fleet_profile.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

// At most a quarter of a compilation's effort, because users place often, and the search starts from the file's
// placement.
constexpr int64_t kEffort = 1'000'000;

struct Arguments {
  std::string artifact, output, fleet, profile, threshold = "2%";
};

/// "2%" or "0.02".
double parse_threshold(const std::string& text) {
  try {
    size_t used = 0;
    const double value = std::stod(text, &used);
    const std::string unit = text.substr(used);
    const double share = unit == "%" ? value / 100 : value;
    if ((unit.empty() || unit == "%") && share >= 0 && share < 1) return share;
  } catch (const std::logic_error&) {  // said below
  }
  fail("--threshold '", text, "': expected a share of the run, such as 2% or 0.02");
}

void print(const gcc_graph::Placing& placing, const gcc_graph::Refined& refined) {
  const std::vector<std::string> groups = placing.groups(), devices = placing.devices();
  const gcc_graph::Placement placement = placing.placement();
  for (size_t g = 0; g < groups.size(); ++g)
    std::cout << "  " << groups[g] << " on " << devices[static_cast<size_t>(placement.device[g])] << '\n';
  std::cout << (refined.moved ? "placed again: " : "left as it was: ") << refined.by << "; a run takes " << refined.us
            << " us by the model";
  if (refined.moved) std::cout << ", " << refined.was_us << " us before";
  std::cout << '\n';
}

gcc_graph::Placing placing_in(const Arguments& a, gcc_graph::RefineOptions& options) {
  const MappedArtifact artifact(a.artifact);
  if (artifact.view().assembly().empty()) fail(a.artifact, ": it has no fleet plan; compile it with --fleet");
  gcc_graph::Placing placing = placing_of(artifact.view());
  if (!a.profile.empty()) options.noise_us = placing.correct(read_fleet_profile(a.profile, artifact.view()));
  return placing;
}

void run(const Arguments& a, const gart::fleet::Hosts* hosts) {
  gcc_graph::RefineOptions options;
  options.threshold = parse_threshold(a.threshold);
  options.effort = kEffort;
  gcc_graph::Placing placing = placing_in(a, options);
  if (!a.fleet.empty())
    placing.move_to(read_fleet(a.fleet));
  else if (hosts != nullptr)
    placing.move_to(inventory_of_ranks(*hosts, true).fleet);
  const gcc_graph::Refined refined = placing.refine(options);
  write_assembly(a.artifact, a.output.empty() ? a.artifact : a.output, placing.section());
  print(placing, refined);
}

}  // namespace

void add_place_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("place", "Place an artifact's parts again on its fleet, without compiling");
  c->add_option("artifact", a->artifact, "The .gart file, compiled with --fleet")->required();
  c->add_option("--fleet", a->fleet,
                "Devices and links as JSON; default: the fleet that the artifact was placed for, or in a "
                "job the devices of all processes, as devices --probe measures them");
  c->add_option("--profile", a->profile, "File of run or bench --monitor");
  c->add_option("--threshold", a->threshold, "Share of the run that another placement must gain")
      ->capture_default_str();
  c->add_option("-o,--output", a->output, "File to write; default: the artifact itself");
  c->callback([a] { in_job([&](const gart::fleet::Hosts* hosts) { run(*a, hosts); }, serve_inventory); });
}

}  // namespace gcg::tools
