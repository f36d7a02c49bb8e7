// Compiled cuts on disk, found by a digest of all that goes into them: the graph's text, the target, this library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcc_graph::lazy {

/// For any number of threads and processes at once: entries are written beside their place and renamed. What cannot be
/// read counts as missing; who reads an entry proves it by its own digests. Where nothing can be written, nothing is
/// cached.
class DiskCache {
 public:
  /// An empty folder: no cache. Above `max_bytes` the oldest entries go.
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
