// Shares work among neighbouring planes.
//
// Example: the positions that GridSample reads depend on data and are equal in every channel. Computing them takes far
// longer than reading. So a vector of positions is computed once, and a loop over the channels reads at these
// positions.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct SharedWork {
  Axis axis;                 // the innermost axis, inside a vector of lanes
  std::vector<Expr> values;  // independent of `axis`
};

/// The axis of `outer` that most of a store's work does not depend on, if load indices depend on data along `lane`.
/// `rising`: arrays of indices that never fall; their loads are cheap without sharing.
std::optional<SharedWork> shared_work(const Stage& store, const Axis& lane, const std::vector<Axis>& outer,
                                      const std::set<int>& rising);

}  // namespace gcg::cpu
