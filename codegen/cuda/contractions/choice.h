// Chooses one variant of a kernel: by measurements if there are any, otherwise by the cost model.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/target.h"

namespace gcg::cuda {

/// At most this many variants of a kernel are measured.
constexpr size_t kMostCandidates = 16;

struct Choice {
  size_t index = 0;
  bool is_tuned = false;
  /// A text for the kernel's note.
  std::string note() const { return is_tuned ? ", tuned" : ""; }
};

/// Looks up the choice in the target's decisions, if there are any. `shape` and `candidates` are strings in the format
/// of compiler/kernel/decisions.h.
Choice choose(const Target& target, const std::string& kind, const std::string& shape,
              std::vector<std::string> candidates);

}  // namespace gcg::cuda
