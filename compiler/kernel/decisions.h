// Choices among the ways to compute a kernel. A backend's cost model makes them; measurements on a device make them better.
#pragma once

#include <cstddef>
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

class Decisions {
 public:
  virtual ~Decisions() = default;
  /// An index into `candidates`; nullopt where nothing better than the cost model is known.
  virtual std::optional<size_t> choose(const Decision& decision) const = 0;
};

}  // namespace gcg
