// The host's side of the CUDA subset that generated kernels use. It is included before the kernel's text, which is
// compiled as C++17 for the host. A thread is a fiber of the simulated driver. A thread that never waits is only one
// call.
#ifndef GART_TESTS_CUDA_SIM_SHIM_SHIM_H
#define GART_TESTS_CUDA_SIM_SHIM_SHIM_H

#define GART_SHIM 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __NVCC__ 1

#pragma GCC visibility push(hidden)
#include "atomics.h"
#include "boxes.h"
#include "cluster.h"
#include "functions.h"
#include "half_pairs.h"
#include "tensor.h"
#include "threads.h"
#include "types.h"
#pragma GCC visibility pop

#define threadIdx (gart_sim::state.thread)
#define blockIdx (gart_sim::state.block)
#define blockDim (gart_sim::state.block_size)
#define gridDim (gart_sim::state.grid)
#define warpSize 32
// The block's dynamic shared memory.
#define GART_SHARED(name) unsigned char* const name = gart_sim::state.shared
#endif
