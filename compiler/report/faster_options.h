// Finds the options of a compilation with which the file would be faster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// Facts that another option would change. They are data; tools/ makes sentences of them.
struct FasterOptions {
  int64_t whole_products = 0;              // steps on a GPU whose products take the factors as f32 (--precision)
  int64_t estimated_products = 0;          // steps on a GPU whose kernels the cost model chose (--tuning)
  int64_t whole_weights = 0;               // bytes of f32 constants that products on a CPU read (--precision)
  std::vector<std::string> open_extents;   // symbols of the inputs, if there is no plan for fixed extents (--dim)
  std::vector<std::string> newer_targets;  // CPU levels that the compiler would choose itself (--target)
};

/// `plans`: with code. `targets`: Plan.target is a position in them. `model`: the first entry point. Sets all members
/// but `newer_targets`.
FasterOptions faster_options(const std::vector<Plan>& plans, const std::vector<Target>& targets, const Graph& model);

}  // namespace gcg
