// Declares every OpDef: `op_Add`, `op_gart_PackedMatMul`. The family files include it, so that their definitions have
// external linkage.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

#define GCG_OP(name) extern const OpDef op_##name;
#include "compiler/ops/ops.inc"
#undef GCG_OP

}  // namespace gcg
