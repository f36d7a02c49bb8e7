#include "tools/gcc-graph/options/fleet_options.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "tools/gcc-graph/io/read_file.h"

namespace gcg::tools {

void FleetOptions::add_to(CLI::App& c) {
  c.add_option(
      "--fleet", fleet_,
      "Devices that the model is cut and placed for, as gcc-graph devices --json writes them (default, with --cut, "
      "--label or --keep: those of this machine)");
  c.add_option(
       "--cut", cut_,
       "What makes groups, in this order: labels, support, chains, shared, fewest (default: what the fleet asks for)")
      ->delimiter(',')
      ->allow_extra_args(false);
  c.add_option(
       "--label", labels_,
       "PATTERN=GROUP: nodes of such a name or operator (* and ? are wildcards) are a group of that name. Repeatable")
      ->allow_extra_args(false);
  c.add_option("--keep", keep_, "Comma-separated values that run --fetch can ask for, by their names in the model")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void FleetOptions::apply(CompileOptions& options, const std::vector<std::string>& assignments) const {
  if (!any()) return;
  const std::vector<uint8_t> json = read_file(fleet_);
  options.fleet = parse_fleet(std::string(json.begin(), json.end()), fleet_);
  static_cast<void>(assignments);
  options.keep = keep_;
}

}  // namespace gcg::tools
