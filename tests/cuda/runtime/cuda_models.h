// The hand-made models of tests/runtime with their kernels as CUDA C++, compiled for the simulated GPU.
#pragma once

#include "tests/runtime/models.h"

namespace gart::test {

/// The kernels of tests/runtime/test_kernels.c as a module of the simulation, in blocks of 16 threads.
const std::vector<uint8_t>& cuda_module();

/// The model with code for sm_80 in place of its CPU code.
ArtifactBuilder on_cuda(ArtifactBuilder model);
/// The same with the kernel that decides branches and loops on the device.
ArtifactBuilder with_conditional_kernel(ArtifactBuilder model);
/// The model with code for sm_80 after its CPU code.
ArtifactBuilder with_cuda(ArtifactBuilder model);

/// out = 2 (x + y) + 2 (x - y) by four kernels on two streams, which wait for each other; f32[n].
ArtifactBuilder two_streams();

/// out = 8 x by three launches of `kernel` on sm_90, the last two of which overlap the ones before; f32[n].
/// "test_scale" reads its factors ahead and waits; "test_hasty" reads everything before it waits; "test_heedless" does
/// not wait.
ArtifactBuilder overlapping(const char* kernel = "test_scale");
/// That model as PTX for compute_80.
ArtifactBuilder on_ptx(ArtifactBuilder overlapping);
/// A model of on_cuda() or conditional() with code for sm_90.
ArtifactBuilder on_sm_90(ArtifactBuilder model);

/// y[i] = data[index[i]] for f32[m] and i64[n], and twice that; the first step says when an index is out of range.
ArtifactBuilder gathering();

}  // namespace gart::test
