// Compiled cuts on disk. The key is a digest of everything that determines the code: the graph's text, the target, this
// library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcc_graph::lazy {

/// Any number of threads and processes may use the cache at once, because entries are written to a temporary file and
/// renamed. Unreadable entries count as missing; a reader verifies an entry by its digests. If the folder cannot be
/// written, nothing is cached.
class DiskCache {
 public:
  /// Empty `folder`: no cache. Above `max_bytes` the oldest entries are deleted.
  DiskCache(std::filesystem::path folder, int64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  /// $GCC_GRAPH_LAZY_CACHE, $XDG_CACHE_HOME/gcc-graph/lazy, or ~/.cache/gcc-graph/lazy.
  static std::filesystem::path default_folder();

  std::string key(const gcg::Graph& graph, const std::string& target) const;
  std::optional<std::vector<uint8_t>> find(const std::string& key) const;
  void put(const std::string& key, const std::vector<uint8_t>& artifact) const;

 private:
  std::filesystem::path path(const std::string& key) const { return folder_ / key.substr(0, 2) / (key + ".gart"); }
  void make_room() const;

  std::filesystem::path folder_;
  int64_t max_bytes_;
};

}  // namespace gcc_graph::lazy
