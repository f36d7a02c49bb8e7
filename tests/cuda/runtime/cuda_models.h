// The hand-made models of tests/runtime with their kernels as CUDA C++, compiled for the simulated GPU.
#pragma once

#include "tests/runtime/models.h"

namespace gart::test {

/// The kernels of tests/runtime/test_kernels.c as a module of the simulation, in blocks of 16 threads.
const std::vector<uint8_t>& cuda_module();

/// The model with code for sm_80 in place of its CPU code.
ArtifactBuilder on_cuda(ArtifactBuilder model);
/// The same model with a kernel that decides branches and loops on the device.
ArtifactBuilder with_conditional_kernel(ArtifactBuilder model);
/// The model with code for sm_80 after its CPU code.
ArtifactBuilder with_cuda(ArtifactBuilder model);

/// out = 2 (x + y) + 2 (x - y), f32[n], by four kernels on two streams that wait for each other.
ArtifactBuilder two_streams();

/// out = 8 x, f32[n], by three launches of `kernel` on sm_90. The second and the third launch overlap the previous one.
/// "test_scale" reads its factors ahead and waits, "test_hasty" reads everything before it waits, and "test_heedless"
/// does not wait.
ArtifactBuilder overlapping(const char* kernel = "test_scale");
/// The model of overlapping(), as PTX for compute_80.
ArtifactBuilder on_ptx(ArtifactBuilder overlapping);
/// A model of on_cuda() or conditional() with code for sm_90.
ArtifactBuilder on_sm_90(ArtifactBuilder model);

/// y[i] = data[index[i]] for f32[m] and i64[n], and 2 y. The first step reports an index that is out of range.
ArtifactBuilder gathering();

}  // namespace gart::test
