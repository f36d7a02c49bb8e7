#include "runtime/cpu/quota.h"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace gart::cpu {
namespace {

struct Close {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

/// Reads up to two numbers from the beginning of the group's file. Returns how many it read.
int read_numbers(std::string& group, const char* file, long* numbers) {
  const size_t length = group.size();
  group += file;
  const File opened(std::fopen(group.c_str(), "re"));
  group.resize(length);
  return opened == nullptr ? 0 : std::fscanf(opened.get(), "%ld %ld", numbers, numbers + 1);
}

/// Lowers `count` to the group's quota. The files give microseconds per period of some microseconds; a group without a
/// limit says "max" or -1.
void lower(int& count, std::string& group) {
  long numbers[3] = {};
  const bool said =
      read_numbers(group, "/cpu.max", numbers) == 2 || (read_numbers(group, "/cpu.cfs_quota_us", numbers) > 0 &&
                                                        read_numbers(group, "/cpu.cfs_period_us", numbers + 1) > 0);
  if (said && numbers[0] > 0 && numbers[1] > 0)
    count = static_cast<int>(std::clamp(numbers[0] / numbers[1], 1L, static_cast<long>(count)));
}

}  // namespace

int within_quota(int count, const std::string& root) {
  const File groups(std::fopen((root + "/proc/self/cgroup").c_str(), "re"));
  char line[4096];
  while (groups != nullptr &&
         std::fgets(line, sizeof line, groups.get()) != nullptr) {  // "0::/a/b", "4:cpu,cpuacct:/a/b"
    const std::string text(line, std::find(line, line + sizeof line, '\n'));
    const size_t first = text.find(':'), second = text.find(':', first + 1);
    if (second == std::string::npos) continue;
    // In a container the path may be the host's, and the mount the group itself.
    std::string group = root + "/sys/fs/cgroup/";
    group.append(text, first + 1, second - first - 1);
    const size_t mount = group.size();
    group.append(text, second + 1);
    for (;; group.resize(group.rfind('/'))) {
      lower(count, group);
      if (group.find('/', mount) == std::string::npos) break;
    }
  }
  return count;
}

}  // namespace gart::cpu
