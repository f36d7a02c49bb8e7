#include "tools/gcc-graph/fleet/fleet_options.h"

#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/io/read_file.h"

namespace gcg::tools {

void FleetOptions::add_to(CLI::App& c) {
  c.add_option("--fleet", fleet_,
               "Devices to cut and place the model for, as gcc-graph devices --json writes them. Default with --cut, "
               "--label or --keep: the devices of this machine");
  c.add_option("--cut", cut_,
               "Rules that make groups, in this order: support or fewest, chains, stages, shared (default: the rules "
               "that suit the fleet)");
  c.add_option(
       "--label", labels_,
       "PATTERN=GROUP: nodes whose name or operator matches (* and ? are wildcards) form the group GROUP. Repeatable")
      ->allow_extra_args(false);
  c.add_option("--keep", keep_, "Comma-separated names of values in the model that run --fetch can ask for. Repeatable")
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
