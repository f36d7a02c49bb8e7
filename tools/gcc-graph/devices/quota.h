// What a container is given, which the topology does not know: CPU time and memory.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gcg::tools {

struct Quota {
  double cpus = 0;           // CPU seconds per second; 0: no limit
  int64_t memory_bytes = 0;  // 0: no limit
};

/// The least of what the process's control groups (v2, v1) and those above them allow. `root`: where /proc and /sys
/// are.
Quota read_quota(const std::filesystem::path& root = "/");

}  // namespace gcg::tools
