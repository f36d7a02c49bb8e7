// Adds as tensor cores do: they truncate where other arithmetic units round.
//
// The products of a block and the sum so far are aligned to the largest exponent among them. Bits below the
// significand's 24 bits and one extra bit are cut off. The rest is added exactly and truncated to f32. Blocks are 16
// bytes of each factor. Measured on GPUs: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores",
// PeerJ CS 7:e330 (2021): truncation, one extra bit on A100, 4 tf32 or 8 f16 a block; Khattak, Mikaitis, "Accurate
// models of NVIDIA tensor cores", arXiv 2512.07004 (2025): H100 keeps two bits and blocks twice as long. The simulation
// uses the A100's rule for all GPUs, because it is the least exact rule of GPUs with tf32.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_BLOCK_ADDER_H
#define GART_TESTS_CUDA_SIM_ENGINE_BLOCK_ADDER_H

namespace gart_sim {

/// sum + a[0]*b[0] + ... in blocks of `block` products; the factors have 11 bits at most.
float add_products(float sum, const float* a, const float* b, unsigned count, unsigned block);

}  // namespace gart_sim
#endif
