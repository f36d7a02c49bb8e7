// What the tool says about a plan when it has compiled it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/plan/plan.h"

namespace gcg {

struct PlanReport {
  int entry_point = 0;  // 0: the whole model, then its parts
  std::string target;
  std::string shapes;                              // "batch=1", "symbolic"
  int64_t steps = 0, kernels = 0;                  // in the file
  std::map<std::string, int64_t> calls;            // library -> steps that it does
  int64_t arena_bytes = 0, arena_lower_bound = 0;  // static plans
};

PlanReport report_plan(const Plan& plan, const Target& target);

}  // namespace gcg
