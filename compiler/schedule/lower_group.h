// A fused group as a kernel.
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/value_lowering.h"

namespace gcg {

struct LoweredGroup {
  Kernel kernel;
  std::vector<ValueId> storages;  // per operand: the value whose storage it is; the result's is the last one
  std::vector<int> in_place;  // operands whose storage the result may take over (same elements, read before written)
};

/// Requires: the group is not control flow.
LoweredGroup lower_group(const Graph& graph, const Fusion& fusion, const FusionGroup& group);

/// Operands whose storage the kernel's result may take over. (in_place.cpp)
std::vector<int> in_place_operands(const Kernel& kernel, const std::vector<ValueId>& storages);

/// out[iteration, ...] = value[...]: one row of a Loop's scan output. Operands: iteration number, value, out.
LoweredGroup lower_row_store(const Graph& body, ValueId value, ValueId iteration, const Shape& out_shape);

/// Loop order: turns "element `index` of operand `result` is `value`" over `domain` into stages. (loop_schedule.cpp)
LoopKernel schedule_loops(const std::vector<Axis>& domain, const Expr& value, int result,
                          const std::vector<Expr>& index, std::vector<Operand>& operands, int& next_axis);

/// Rewrites affine loads and the store index to one linear index each, so that axes that run through memory together
/// can become one axis. Operands that are still loaded by several indices keep their shape. (flatten.cpp)
class FlatIndices {
 public:
  FlatIndices(std::vector<Operand>& operands, int& next_axis) : operands_(operands), next_axis_(next_axis) {}
  /// All loads of `e` that are affine, by linear index.
  Expr flatten(const Expr& e);
  /// The linear index of an element of operand `o`, whose shape becomes one-dimensional; the index as it is if not
  /// affine.
  std::vector<Expr> flatten_store(int o, const std::vector<Expr>& index);
  /// Merges neighbours of `axes` in every expression where all loads and stores run through them at one stride.
  void merge(std::vector<Axis>& axes, std::vector<Expr*> expressions);

 private:
  std::vector<Operand>& operands_;
  int& next_axis_;
};

}  // namespace gcg
