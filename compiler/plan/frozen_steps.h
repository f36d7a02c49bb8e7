// Checks that the steps of plans no longer change after a certain stage of compile.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

class FrozenSteps {
 public:
  enum class Facts : uint8_t {
    work,   // no step is added, and no step changes its work
    order,  // in addition, streams, waits and overlaps do not change
  };

  FrozenSteps(const std::vector<Plan>& plans, Facts facts);

  /// Throws InternalError naming the plan and the step that has changed.
  void check(const std::vector<Plan>& plans) const;

 private:
  Facts facts_;
  std::vector<std::vector<std::vector<size_t>>> steps_;  // a hash of each step, by plan and sequence
};

}  // namespace gcg
