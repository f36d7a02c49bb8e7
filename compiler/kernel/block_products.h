// Says which products with block-quantised weights (BlockPacking) a target computes directly on the stored integers.
#pragma once

#include "compiler/ir/dim.h"
#include "compiler/kernel/packing.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// The number of 16-bit parts into which f32 factors are split for the multiplication; the precision determines it.
int parts_of_factors(const Target& target);

/// CPUs support all packings. GPUs with bf16 tensor cores require that `rows` is known and small, so that the time is
/// bound by reading the weights. They support integers of 4 or 8 bits, and blocks of 16, 32 or a multiple of 64 rows,
/// or a single block (codegen/cuda/device/gart_block_weights.cuh).
bool multiplies_blocks(const Target& target, const BlockPacking& packing, const Dim& rows);

}  // namespace gcg
