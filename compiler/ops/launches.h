// Operators that GPUs compute by programs of launches (compiler/kernel/program.h) rather than by their lowering.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

struct OpLaunches {
  const OpDef* op;
  void (*write)(ProgramBuilder&);
  /// Is there enough work? Null: always.
  bool (*is_worth)(const Graph&, const Node&) = nullptr;
};

/// Those of the operator; null: it has none.
const OpLaunches* launches_of(const OpDef& op);

void launches_cum_sum(ProgramBuilder& p);
void launches_cum_prod(ProgramBuilder& p);
bool sums_long_lines(const Graph& graph, const Node& n);
void launches_equal_slices(ProgramBuilder& p);
void launches_positions(ProgramBuilder& p);
void launches_scatter_elements(ProgramBuilder& p);
void launches_scatter_nd(ProgramBuilder& p);
/// More updates than each element should look at by itself?
bool has_many_updates(const Graph& graph, const Node& n);
void launches_suppress(ProgramBuilder& p);
void launches_top_k(ProgramBuilder& p);

}  // namespace gcg
