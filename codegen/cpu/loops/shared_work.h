// What neighbouring planes have in common.
//
// Where GridSample reads depends on data, and is the same in every channel. Computing it takes far longer than reading:
// a vector of such places is computed once, and a loop over the channels reads there.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct SharedWork {
  Axis axis;                 // innermost, inside a vector of lanes
  std::vector<Expr> values;  // do not depend on it
};

/// The axis of `outer` that most of the work of a store does not depend on, where places to read depend on data along
/// `lane`.
std::optional<SharedWork> shared_work(const Stage& store, const Axis& lane, const std::vector<Axis>& outer);

}  // namespace gcg::cpu
