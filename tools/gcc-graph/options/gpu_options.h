// How kernels for GPUs are made: the options that `compile` and `tune` share.
#pragma once

#include <string>
#include <vector>

#include "gcc_graph/compile.h"

namespace CLI {
class App;
}

namespace gcg::tools {

struct GpuOptions {
  std::string cache;  // --cache DIR; empty: the user's
  std::string precision = "fp32";
  std::vector<std::string> libraries = {"none"};

  void add_to(CLI::App& command);
  /// Fills in what of the options concerns all kernels for GPUs. Throws Error where the cache's folder cannot be
  /// used.
  void apply(gcc_graph::CompileOptions& options) const;

 private:
  void check() const;
};

}  // namespace gcg::tools
