// How kernels for GPUs are made: the options that `compile` and `tune` share.
#pragma once

#include <memory>
#include <string>

#include "compiler/kernel/backend.h"

namespace CLI {
class App;
}

namespace gcg::tools {

struct GpuOptions {
  std::string cache;  // --cache DIR; empty: the user's
  Precision precision = Precision::fp32;

  void add_to(CLI::App& command);
  /// Throws CompileError where the cache's folder cannot be used.
  std::unique_ptr<Backend> backend() const;
};

}  // namespace gcg::tools
