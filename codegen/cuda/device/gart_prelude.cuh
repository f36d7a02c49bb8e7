// The functions that kernel texts may call. They may also use threadIdx.x, blockIdx.x, __syncthreads, __syncwarp and
// static __shared__ arrays.
//
// NVRTC compiles the text with -default-device, so functions need no __device__. For tests, a host compiler compiles
// the same text after a shim. The shim defines GART_SHIM, the CUDA names above, and every function that is under
// `#ifndef GART_SHIM` here. It must also define these functions of CUDA: the C mathematical functions and their f
// variants, fmaf, __shfl_xor_sync.
#pragma once

#include "gart_arithmetic.cuh"
#include "gart_convert.cuh"
#include "gart_grid.cuh"
#include "gart_group.cuh"
#include "gart_memory.cuh"
