// One of the ways to compute a kernel, chosen by measurements where there are any, else by the cost model.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/target.h"

namespace gcg::cuda {

/// How many ways to compute a kernel are worth a measurement.
constexpr size_t kMostCandidates = 16;

struct Choice {
  size_t index = 0;
  bool is_tuned = false;
  /// For the kernel's note.
  std::string note() const { return is_tuned ? ", tuned" : ""; }
};

/// Asks the target's decisions. `shape` and `candidates` are words as in compiler/kernel/decisions.h.
Choice choose(const Target& target, const std::string& kind, const std::string& shape,
              std::vector<std::string> candidates);

}  // namespace gcg::cuda
