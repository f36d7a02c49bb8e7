// Passes a model and a stream to the C program.
#include "runtime/cuda/driver/driver.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"

extern "C" int use_c_api_on_gpu(const void* model, size_t bytes, void* stream);

namespace gart {
namespace {

class CudaCApi : public test::OnSim {};

TEST_F(CudaCApi, RunsOnStreamsAndLeavesResultsOnTheGpu) {
  const std::vector<uint8_t> model = test::with_cuda(test::add_and_double()).write();
  const cuda::Driver& driver = *cuda::open_driver().value();
  cuda::CUcontext context = nullptr;
  cuda::CUstream stream = nullptr;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSetCurrent(context), cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamCreateWithPriority(&stream, 1, 0), cuda::CUDA_SUCCESS);
  EXPECT_EQ(use_c_api_on_gpu(model.data(), model.size(), stream), 0);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), cuda::CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), cuda::CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), cuda::CUDA_SUCCESS);
}

}  // namespace
}  // namespace gart
