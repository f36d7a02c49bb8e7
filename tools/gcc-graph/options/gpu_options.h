// Options for GPU kernels, shared by `compile` and `tune`.
#pragma once

#include <string>
#include <vector>

#include "gcc_graph/compile.h"

namespace CLI {
class App;
}

namespace gcg::tools {

struct GpuOptions {
  std::string cache;  // --cache DIR; empty: the user's cache
  std::string precision = "fp32";
  std::vector<std::string> libraries = {"none"};

  void add_to(CLI::App& command);
  /// Copies the options for all GPU kernels. Throws Error if the cache's folder cannot be used.
  void apply(gcc_graph::CompileOptions& options) const;

 private:
  void check() const;
};

}  // namespace gcg::tools
