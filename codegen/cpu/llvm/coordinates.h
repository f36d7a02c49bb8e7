// Coordinates of points of axes in row-major order.
#pragma once

#include <vector>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The coordinates of point number `p`.
FunctionBuilder::Values coordinates(FunctionBuilder& f, const std::vector<Axis>& axes, llvm::Value* p);

/// The coordinates of the point after `at`, without divisions, for loops that carry coordinates. After the last point,
/// the coordinate of the first axis equals its extent.
FunctionBuilder::Values next_coordinates(FunctionBuilder& f, const std::vector<Axis>& axes,
                                         const FunctionBuilder::Values& at);

}  // namespace gcg::cpu
