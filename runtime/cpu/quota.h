// The CPU time that control groups allow this process.
#pragma once

#include <string>

namespace gart::cpu {

/// CPU quota in whole CPUs, at least 1: the smallest limit of the process's control groups (versions 1 and 2) and their
/// ancestors. It is `count` if the groups allow more or the system states no limit. If a process runs more threads than
/// its quota, the system stops each of them most of the time, and spinning threads use up the quota. `root`: prefix of
/// /proc and /sys.
int within_quota(int count, const std::string& root = {});

}  // namespace gart::cpu
