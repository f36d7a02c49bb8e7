#include "tools/gcc-graph/fleet/fleet_options.h"

#include <algorithm>

#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/fleet/read_fleet.h"

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
  c.add_option("--keep", keep_, "Comma-separated values that run --fetch can ask for, by their names in the model")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void FleetOptions::apply(CompileOptions& options, const std::vector<std::string>& assignments) const {
  for (const std::string& text : assignments) options.cut.assignments.push_back(parse_node_wish("--assign", text));
  if (!any()) return;
  options.fleet = fleet_.empty() ? take_inventory(false).fleet : read_fleet(fleet_);
  if (!cut_.empty()) options.cut.rules = parse_cut_rules(cut_);
  for (const std::string& text : labels_) options.cut.labels.push_back(parse_node_wish("--label", text));
  options.keep = keep_;
}

void add_labels_of_nodes(const std::vector<NodeLabel>& labels, const Fleet& fleet, CutOptions& cut) {
  std::vector<NodeWish> groups, devices;
  for (const NodeLabel& label : labels) {
    const bool is_call = label.node.ends_with('/');
    const std::string pattern = label.node + (is_call ? "*" : "");
    const bool is_here = !devices_called(fleet, label.value).empty();
    if (label.key == "gart.group") groups.push_back({pattern, label.value + (is_call ? " of " + label.node : "")});
    if (label.key == "gart.device" && is_here) devices.push_back({pattern, label.value});
  }
  cut.labels.insert(cut.labels.begin(), groups.begin(), groups.end());
  cut.assignments.insert(cut.assignments.begin(), devices.begin(), devices.end());
}

}  // namespace gcg::tools
