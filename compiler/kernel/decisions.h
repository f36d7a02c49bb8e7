// Choices among the variants of a kernel. A backend's cost model makes them; measurements on a device improve them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcg {

/// A choice to be made. Its texts mean the same in every compilation.
struct Decision {
  std::string target;                   // "sm_90a"
  std::string precision;                // "fp32", "fp16", ...
  std::string kernel;                   // kind: "matmul", "conv"
  std::string shape;                    // the facts that the time depends on: extents, layouts of operands
  std::vector<std::string> candidates;  // distinct; the cost model's favourite comes first
};

/// A library's algorithm for a call. The configuration has a meaning only for this version of the library
/// (artifact_schema/gart.fbs, Algorithm).
struct LibraryAlgorithm {
  uint32_t version = 0;
  std::vector<int64_t> config;
};

class Decisions {
 public:
  virtual ~Decisions() = default;
  /// An index into `candidates`; nullopt if nothing better than the cost model is known.
  virtual std::optional<size_t> choose(const Decision&) const { return std::nullopt; }
  /// The algorithm for a library call, whose candidates only the library knows; nullopt if nothing better than the
  /// library's heuristic is known.
  virtual std::optional<LibraryAlgorithm> algorithm(const Decision&) const { return std::nullopt; }
};

}  // namespace gcg
