// A disk cache of assembled kernels (cubins or PTX). Its keys are hashes of everything that the result depends on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "codegen/cuda/assembler/nvrtc.h"

namespace gcg::cuda {

/// Safe for concurrent threads and processes: entries are written to a temporary file and renamed. An entry that is
/// damaged or stored under another key counts as missing. If the folder is not writable, nothing is cached.
class CubinCache {
 public:
  /// An empty path disables the cache.
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// $XDG_CACHE_HOME/gcc-graph, or ~/.cache/gcc-graph; empty if neither variable is set.
  static std::filesystem::path default_folder();

  std::optional<AssembledProgram> find(const std::string& key) const;
  void put(const std::string& key, const AssembledProgram& program) const;

 private:
  std::filesystem::path path(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

  std::filesystem::path folder_;
};

}  // namespace gcg::cuda
