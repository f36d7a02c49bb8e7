// The summary of a compiled plan, which the tool prints.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gcg {

struct Plan;
struct Target;

struct PlanReport {
  int entry_point = 0;  // 0: the model; 1 and up: further models, or its parts
  std::string entry;    // the entry point's name, if the file has several models
  std::string target;
  std::map<std::string, int64_t> fixed;  // fixed values of symbols; empty: any shape
  bool is_load_time_packing = false;
  bool assumes_equal_extents = false;              // another plan serves the runs in which extents broadcast
  int64_t steps = 0, kernels = 0;                  // in the file
  std::map<std::string, int64_t> calls;            // library -> number of its steps
  int64_t arena_bytes = 0, arena_lower_bound = 0;  // static plans
};

PlanReport report_plan(const Plan& plan, const Target& target);

}  // namespace gcg
