// Which products by integers of few bits (BlockPacking) a target multiplies as they are stored.
#pragma once

#include "compiler/ir/dim.h"
#include "compiler/kernel/packing.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Parts that f32 factors are multiplied in, each of 16 bits: the precision says so.
int parts_of_factors(const Target& target);

/// CPUs multiply all. GPUs with tensor cores of bf16 do where `rows` are few, known ones, so that reading the weights
/// is the time: words of 4 or 8 bits, blocks of 16, 32 or a multiple of 64 rows, or one.
/// (codegen/cuda/device/gart_block_weights.cuh)
bool multiplies_blocks(const Target& target, const BlockPacking& packing, const Dim& rows);

}  // namespace gcg
