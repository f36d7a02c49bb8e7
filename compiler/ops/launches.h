// Operators that GPUs compute by programs of launches (compiler/kernel/program.h) instead of by their lowering.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

struct OpLaunches {
  const OpDef* op;
  void (*write)(ProgramBuilder&);
  /// True if the launches are worth their cost. Null: they always are.
  bool (*is_worth)(const Graph&, const Node&) = nullptr;
};

/// The operator's launches; null if it has none.
const OpLaunches* launches_of(const OpDef& op);

void launches_cum_sum(ProgramBuilder& p);
void launches_cum_prod(ProgramBuilder& p);
bool sums_long_lines(const Graph& graph, const Node& n);
void launches_equal_slices(ProgramBuilder& p);
void launches_positions(ProgramBuilder& p);
void launches_scatter_elements(ProgramBuilder& p);
void launches_scatter_nd(ProgramBuilder& p);
/// True if there are too many updates for each element to check all of them.
bool has_many_updates(const Graph& graph, const Node& n);
void launches_suppress(ProgramBuilder& p);
void launches_top_k(ProgramBuilder& p);

}  // namespace gcg
