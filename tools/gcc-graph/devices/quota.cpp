#include "tools/gcc-graph/devices/quota.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& file, std::string* second = nullptr) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  if (second != nullptr) in >> *second;
  return word;
}

/// 0 if the text is not a positive number ("max", "-1", a missing file).
double number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && value > 0 ? value : 0;
}

void lower(double& least, double value) {
  if (value > 0 && (least == 0 || value < least)) least = value;
}

/// Reads the files of one group. Files of the other cgroup version do not exist.
void read_group(const fs::path& folder, double& cpus, double& memory) {
  std::string period;
  const std::string quota = first_word(folder / "cpu.max", &period);
  if (number(period) > 0) lower(cpus, number(quota) / number(period));
  const double old_period = number(first_word(folder / "cpu.cfs_period_us"));
  if (old_period > 0) lower(cpus, number(first_word(folder / "cpu.cfs_quota_us")) / old_period);
  lower(memory, number(first_word(folder / "memory.max")));
  lower(memory, number(first_word(folder / "memory.limit_in_bytes")));
}

}  // namespace

Quota read_quota(const fs::path& root) {
  constexpr double kNoLimit = 1e18;  // v1 writes "no limit" as a number near 2^63
  double cpus = 0, memory = 0;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b", "4:cpu,cpuacct:/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path mount = root / "sys/fs/cgroup" / controllers;
    // Inside a container, the path may be the host's, and the mount may be the group itself. So the loop ends with the
    // files of the mount.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      read_group(mount / group, cpus, memory);
      if (group.empty()) break;
    }
  }
  return {cpus, memory > 0 && memory < kNoLimit ? static_cast<int64_t>(memory) : 0};
}

}  // namespace gcg::tools
