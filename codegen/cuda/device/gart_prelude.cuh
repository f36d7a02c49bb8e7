// What the text of a kernel may use, beside threadIdx.x, blockIdx.x, __syncthreads, __syncwarp and static __shared__ arrays.
//
// The same text is compiled by NVRTC (with -default-device: functions need no __device__) and, for tests, by a host
// compiler through a shim that is included first and defines GART_SHIM, the CUDA names above, and every function that
// stands here under `#ifndef GART_SHIM`. Functions that CUDA itself provides and the shim must too: the C mathematical
// functions and their f variants, fmaf, __shfl_xor_sync, __syncthreads, __syncwarp.
#pragma once

#include "gart_arithmetic.cuh"
#include "gart_convert.cuh"
#include "gart_grid.cuh"
#include "gart_group.cuh"
#include "gart_memory.cuh"
