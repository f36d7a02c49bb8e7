// Emits one row of a store stage: vectors along its vector axis. Ends and middle have separate code if their values
// differ.
#pragma once

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Stores the elements [begin, end) of the vector axis of `plan`; `point` has the coordinates of the other axes.
void emit_store_row(FunctionBuilder& f, const StagePlan& plan, const Point& point, llvm::Value* begin,
                    llvm::Value* end);

/// Stores the element `at` of the vector axis.
void emit_single_element(FunctionBuilder& f, const StagePlan& plan, const Point& point, llvm::Value* at);

/// The same as emit_store_row for fewer than `plan.native` elements, in one masked register. Requires `plan.maskable`.
void emit_short_row(FunctionBuilder& f, const StagePlan& plan, const Point& point, llvm::Value* begin,
                    llvm::Value* end);

}  // namespace gcg::cpu
