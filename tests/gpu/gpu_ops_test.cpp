// The tables of tests/ops on the GPU of this machine: $GPU_OPS_TARGET names what to compile for.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/cuda/cuda_backend.h"
#include "tests/gpu/form_on_gpu.h"

namespace gcg::test {
namespace {

const char* target() { return std::getenv("GPU_OPS_TARGET"); }

void check(const RowForm& form) {
  static const Backends backends = [] {
    Backends all;
    all.push_back(cuda::make_cuda_backend());
    return all;
  }();
  if (target() != nullptr) check_form_on_gpu(form, target(), backends);
}

const bool hooked = [] {
  check_form_further = check;
  return true;
}();

TEST(OpsOnGpu, TargetIsNamed) { EXPECT_TRUE(hooked && target() != nullptr) << "GPU_OPS_TARGET is not set"; }

}  // namespace
}  // namespace gcg::test
