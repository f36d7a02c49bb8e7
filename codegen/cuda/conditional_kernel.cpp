#include "codegen/cuda/conditional_kernel.h"

namespace gcg::cuda {

// The driver resolves cudaGraphSetConditional when it loads the module, so the device runtime need not be linked.
const char* const kConditionalKernelText =
    R"(extern "C" void cudaGraphSetConditional(unsigned long long handle, unsigned value);

extern "C" __global__ void __launch_bounds__(1) gart_set_conditionals(const unsigned char* condition, const long long* trips,
    long long* iteration, long long* counter, unsigned long long yes, unsigned long long no, unsigned long long flags) {
  const long long next = (flags & 1) != 0 || counter == nullptr ? 0 : *counter + 1;
  const bool go = (condition == nullptr || *condition != 0) && (trips == nullptr || next < *trips);
  if (counter != nullptr) *counter = next;
  if (go && iteration != nullptr) *iteration = next;
  cudaGraphSetConditional(yes, go);
  if ((flags & 2) != 0) cudaGraphSetConditional(no, !go);
}
)";

}  // namespace gcg::cuda
