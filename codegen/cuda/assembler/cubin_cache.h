// Assembled kernels on disk (cubins, or PTX), found by a hash of everything that goes into them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "codegen/cuda/assembler/nvrtc.h"

namespace gcg::cuda {

/// Safe under concurrent use by threads and processes: entries are written beside their place and renamed. An entry
/// that is damaged, or lies under another key than its own, counts as missing. Where nothing can be written, nothing is
/// cached.
class CubinCache {
 public:
  /// An empty path: no cache.
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// $XDG_CACHE_HOME/gcc-graph, or ~/.cache/gcc-graph; empty where neither is known.
  static std::filesystem::path default_folder();

  std::optional<Assembled> find(const std::string& key) const;
  void put(const std::string& key, const Assembled& program) const;

 private:
  std::filesystem::path path(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

  std::filesystem::path folder_;
};

}  // namespace gcg::cuda
