#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "gcc_graph/fleet.h"
#include "compiler/place/refine.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/fleet/read_fleet.h"
#include "tools/gcc-graph/fleet/read_fleet_profile.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/io/fail.h"

namespace gcg::tools {
namespace {

constexpr int64_t kEffort =
    1'000'000;  // a quarter of a compilation's or less: it is asked often, and begins from what is there

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
  fail("--threshold '", text, "': a share of the run is expected, such as 2% or 0.02");
}

void print(const gart::fb::AssemblyT& assembly, const place::Refined& refined) {
  for (const auto& g : assembly.groups)
    std::cout << "  " << g->name << " on " << assembly.devices[g->device]->name << '\n';
  std::cout << (refined.moved ? "placed anew: " : "left as it was: ") << refined.by << "; a run takes " << refined.us
            << " us by the model";
  if (refined.moved) std::cout << ", " << refined.was_us << " us before";
  std::cout << '\n';
}

void run(const Arguments& a) {
  place::RefineOptions options;
  options.threshold = parse_threshold(a.threshold);
  options.place.effort = kEffort;
  gart::fb::AssemblyT assembly;
  place::Refined refined;
  {
    const MappedArtifact artifact(a.artifact);
    if (artifact.view().assembly().empty())
      fail(a.artifact, ": there is no assembly in it; compile with --fleet makes one");
    assembly = unpack_assembly(artifact.view().assembly());
    const GroupWeights weights = group_weights(artifact.view(), assembly);
    if (!a.profile.empty()) {
      const FleetProfile profile = read_fleet_profile(a.profile, artifact.view());
      options.noise_us = correct_times(assembly, profile);
    }
    if (!a.fleet.empty()) move_to_fleet(assembly, read_fleet(a.fleet));
    const place::Problem problem = problem_of(assembly, weights);
    const place::Placement now = placement_of(assembly, problem);
    refined = place::refine(problem, now, options);
    if (refined.misfit) fail(place::describe(problem, *refined.misfit));
    apply(problem, refined.placement, assembly);
  }
  write_assembly(a.artifact, a.output.empty() ? a.artifact : a.output, pack_assembly(assembly));
  print(assembly, refined);
}

}  // namespace

void add_place_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("place", "Place an artifact's parts anew on its fleet; nothing is compiled again");
  c->add_option("artifact", a->artifact, "The .gart file, compiled with --fleet")->required();
  c->add_option("--fleet", a->fleet, "Devices and links as JSON; default: those that the artifact was placed for");
  c->add_option("--profile", a->profile, "What run or bench --monitor wrote");
  c->add_option("--threshold", a->threshold, "What another placement has to gain, of the run")->capture_default_str();
  c->add_option("-o,--output", a->output, "The file to write; default: the artifact itself");
  c->callback([a] { run(*a); });
}

}  // namespace gcg::tools
