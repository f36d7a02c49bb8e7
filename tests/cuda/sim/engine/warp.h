// The collectives of a warp, computed for all its lanes at once.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_WARP_H
#define GART_TESTS_CUDA_SIM_ENGINE_WARP_H

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {

void compute_shuffle(const Lanes& lanes, unsigned detail, BlockRunner& runner);
void compute_vote(const Lanes& lanes, Vote kind);
void compute_mma(const Lanes& lanes, Mma kind);
void compute_ldmatrix(const Lanes& lanes, unsigned matrices, bool transposed);
void compute_stmatrix(const Lanes& lanes, unsigned matrices, bool transposed, BlockRunner& runner);

// The rows of a product's left operand, if that operand is in registers.
void compute_wide_rows(const Lanes& lanes);

// The elements of a row with `count` elements, as numbers.
void load_elements(Mma kind, const unsigned char* row, unsigned count, float* out);
unsigned element_bytes(Mma kind);
float f16_to_f32(uint16_t h);

}  // namespace gart_sim
#endif
