// Emits a reduction stage with partial sums, which are lanes along its last axis or are kept in the stack frame.
#pragma once

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// The value of the stage at `point`. The point has lanes only if the stage has no vector axis.
llvm::Value* emit_reduce_stage(FunctionBuilder& f, const StagePlan& plan, const Point& point);

}  // namespace gcg::cpu
