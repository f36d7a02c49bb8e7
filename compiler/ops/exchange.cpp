// gart.Exchange: the sum of a value over all replicas of a training step. It exists only until the step is split at it
// (compiler/train/phases.h); with one replica, it is the value itself. It has no reference, so that the value that one
// replica knows when compiling is not taken for the sum.
#include "compiler/ops/exchange.h"

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void infer_exchange(InferContext& ctx) { ctx.set_output(0, ctx.dtype(0), ctx.shape(0)); }

}  // namespace

constinit const OpDef op_gart_Exchange{.name = "Exchange",
                                       .domain = "gart",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .types = {Types::floats},
                                       .kind = OpKind::opaque,
                                       .infer = infer_exchange};

}  // namespace gcg
