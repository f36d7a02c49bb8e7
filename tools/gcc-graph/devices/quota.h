// Limits of the container that the topology does not show: CPU time and memory.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gcg::tools {

struct Quota {
  double cpus = 0;           // CPU seconds per second; 0: no limit
  int64_t memory_bytes = 0;  // 0: no limit
};

/// The smallest limit of the process's control groups (v2, v1) and their ancestors. `root`: the folder that holds /proc
/// and /sys.
Quota read_quota(const std::filesystem::path& root = "/");

}  // namespace gcg::tools
