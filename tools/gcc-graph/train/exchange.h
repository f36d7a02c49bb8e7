// Values that all replicas of a step exchange between two phases.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/train/replica.h"

namespace gcg::tools {

class Exchange {
 public:
  /// `phases`: the entry points. The program must outlive the object.
  Exchange(const gart::Program& program, const std::vector<std::string>& phases);

  /// Before the phase runs: gives each of these replicas the shares of all of them, in their order.
  gart::Result<void> run(size_t phase, std::span<const std::unique_ptr<Replica>> replicas);

 private:
  struct Shared {
    std::string shares, share;    // names of an input and of an output
    std::vector<uint8_t> memory;  // one after the other
  };
  std::vector<std::vector<Shared>> by_phase_;
};

}  // namespace gcg::tools
