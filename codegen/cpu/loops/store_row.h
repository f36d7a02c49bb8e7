// One row of a store stage: vectors along the stage's vector axis, its borders and its middle apart where they differ.
#pragma once

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Stores the elements [begin, end) of the vector axis of `plan`; `point` says where the other axes are.
void emit_store_row(FunctionBuilder& f, const StagePlan& plan, const Point& point, llvm::Value* begin,
                    llvm::Value* end);

}  // namespace gcg::cpu
