// Options of `compile` for the devices that a model is cut and placed for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "gcc_graph/compile_model.h"

namespace gcg::tools {

class FleetOptions {
 public:
  void add_to(CLI::App& command);
  /// True if any of them was given.
  bool any() const { return !fleet_.empty() || !cut_.empty() || !labels_.empty() || !keep_.empty(); }
  /// Sets fleet, cut and the values to keep. Throws Error if the file cannot be read.
  void apply(gcc_graph::ModelOptions& options) const;

 private:
  std::string fleet_;
  std::string cut_;
  std::vector<std::string> labels_, keep_;
};

}  // namespace gcg::tools
