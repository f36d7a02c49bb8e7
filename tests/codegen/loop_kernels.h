// Small builders of loop kernels for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::test {

/// Axes 0, 1, ... with these extents.
inline std::vector<Axis> axes_of(const Shape& shape, int first = 0) {
  std::vector<Axis> axes;
  for (const Dim& d : shape) axes.push_back({first + static_cast<int>(axes.size()), d});
  return axes;
}

/// The axes without those of extent 1, as lowering makes them.
inline std::vector<Axis> without_units(std::vector<Axis> axes) {
  std::erase_if(axes, [](const Axis& a) { return a.extent.is(1); });
  return axes;
}

inline std::vector<Expr> refs(const std::vector<Axis>& axes) {
  std::vector<Expr> r;
  for (const Axis& a : axes) r.push_back(axis_ref(a));
  return r;
}

inline Stage store_stage(int operand, std::vector<Axis> axes, std::vector<Expr> index, Expr value) {
  Stage stage;
  stage.axes = without_units(std::move(axes));
  stage.value = std::move(value);
  stage.operand = operand;
  stage.index = std::move(index);
  return stage;
}

inline Stage reduce_stage(int local, ReduceOp op, std::vector<Axis> axes, Expr value) {
  Stage stage;
  stage.kind = Stage::Kind::reduce;
  stage.axes = without_units(std::move(axes));
  stage.value = std::move(value);
  stage.local = local;
  stage.reduce = op;
  return stage;
}

/// result[i...] = value(i...), where result is the last operand.
inline Kernel map_kernel(std::string name, std::vector<Operand> operands,
                         const std::function<Expr(const std::vector<Expr>&)>& value) {
  const std::vector<Axis> axes = axes_of(operands.back().shape);
  operands.back().written = true;
  LoopKernel loop;
  loop.stages.push_back(store_stage(static_cast<int>(operands.size()) - 1, axes, refs(axes), value(refs(axes))));
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.operands = std::move(operands);
  kernel.body = std::move(loop);
  return kernel;
}

inline Expr f32(double v) { return constant_float(DType::f32, v); }

}  // namespace gcg::test
