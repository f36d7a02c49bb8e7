// Choices among the ways to compute a kernel. A backend's cost model makes them; measurements on a device make them
// better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcg {

/// A choice to be made, in words that mean the same in every compilation.
struct Decision {
  std::string target;                   // "sm_90a"
  std::string precision;                // "fp32", "fp16", ...
  std::string kernel;                   // kind: "matmul", "conv"
  std::string shape;                    // what the time depends on: extents, layout of operands
  std::vector<std::string> candidates;  // distinct; what the cost model likes best comes first
};

/// One of a library's ways to do a call, known to this version of it only: artifact_schema/gart.fbs, Algorithm.
struct LibraryAlgorithm {
  uint32_t version = 0;
  std::vector<int64_t> config;
};

class Decisions {
 public:
  virtual ~Decisions() = default;
  /// An index into `candidates`; nullopt where nothing better than the cost model is known.
  virtual std::optional<size_t> choose(const Decision&) const { return std::nullopt; }
  /// About a library's call, whose candidates only the library knows; nullopt where nothing better than its heuristic
  /// is known.
  virtual std::optional<LibraryAlgorithm> algorithm(const Decision&) const { return std::nullopt; }
};

}  // namespace gcg
