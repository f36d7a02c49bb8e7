// The time on CPUs that control groups leave to this process.
#pragma once

#include <string>

namespace gart::cpu {

/// In whole CPUs, at least 1: the least that the process's groups of either version, and those above them, allow;
/// `count` where they allow more, or the system does not say. More threads than that are stopped for most of their
/// time, spinning ones first of all. `root`: before /proc and /sys.
int within_quota(int count, const std::string& root = {});

}  // namespace gart::cpu
