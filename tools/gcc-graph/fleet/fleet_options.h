// Options of `compile` about the devices that a model is cut and placed for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/import/import.h"

namespace gcg::tools {

class FleetOptions {
 public:
  void add_to(CLI::App& command);
  /// Was any of them given?
  bool any() const { return !fleet_.empty() || !cut_.empty() || !labels_.empty() || !keep_.empty(); }
  /// Sets fleet, cut and values to be kept. `assignments`: of --assign. Throws CompileError.
  void apply(CompileOptions& options, const std::vector<std::string>& assignments) const;

 private:
  std::string fleet_;
  std::string cut_;
  std::vector<std::string> labels_, keep_;
};

/// What functions and nodes of the model say of their groups and devices (metadata_props "gart.group", "gart.device"),
/// before what the user says, which wins. Each call of a function is a group of its own: calls may wait for each other.
/// Devices that the fleet lacks are left out: a library of functions serves other fleets, too.
void add_labels_of_nodes(const std::vector<NodeLabel>& labels, const Fleet& fleet, CutOptions& cut);

}  // namespace gcg::tools
