// "From here on" as a check: what of the steps of plans is final from a point of the story (compile.cpp) on.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

class FrozenSteps {
 public:
  enum class Facts : uint8_t {
    work,   // no step is added, and each does what it does
    order,  // nor does a stream, a wait or what overlaps change
  };

  FrozenSteps(const std::vector<Plan>& plans, Facts facts);

  /// Throws InternalError naming the plan and the step that is not as it was.
  void check(const std::vector<Plan>& plans) const;

 private:
  Facts facts_;
  std::vector<std::vector<std::vector<size_t>>> steps_;  // a hash of each, by plan and sequence
};

}  // namespace gcg
