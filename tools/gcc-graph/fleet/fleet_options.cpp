#include "tools/gcc-graph/fleet/fleet_options.h"

#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/io/read_file.h"

namespace gcg::tools {

void FleetOptions::add_to(CLI::App& c) {
  c.add_option(
      "--fleet", fleet_,
      "Devices that the model is cut and placed for, as gcc-graph devices --json writes them (default, with --cut, "
      "--label or --keep: those of this machine)");
  c.add_option(
      "--cut", cut_,
      "What makes groups, in this order: support or fewest, chains, stages, shared (default: what the fleet asks for)");
  c.add_option(
       "--label", labels_,
       "PATTERN=GROUP: nodes of such a name or operator (* and ? are wildcards) are a group of that name. Repeatable")
      ->allow_extra_args(false);
  c.add_option("--keep", keep_,
               "Comma-separated values that run --fetch can ask for, by their names in the model. Repeatable")
      ->allow_extra_args(false);
}

void FleetOptions::apply(gcc_graph::ModelOptions& options) const {
  if (!any()) return;
  if (fleet_.empty()) {
    options.fleet = {gcc_graph::print_fleet(take_inventory(false).fleet), "this machine"};
  } else {
    const std::vector<uint8_t> json = read_file(fleet_);
    options.fleet = {{json.begin(), json.end()}, fleet_};
  }
  options.cut = cut_;
  options.labels = labels_;
  options.keep = keep_;
}

}  // namespace gcg::tools
