// How kernels for GPUs are made: the options that `compile` and `tune` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/kernel/backend.h"

namespace CLI {
class App;
}

namespace gcg::tools {

struct GpuOptions {
  std::string cache;  // --cache DIR; empty: the user's
  Precision precision = Precision::fp32;
  std::vector<std::string> libraries = {"none"};

  void add_to(CLI::App& command);
  /// Throws CompileError where the cache's folder cannot be used.
  std::unique_ptr<Backend> backend() const;
  /// Fills in what of the options concerns all kernels for GPUs. Throws CompileError naming a library that is not
  /// known.
  void apply(CompileOptions& options) const;
};

}  // namespace gcg::tools
