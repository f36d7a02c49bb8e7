// What needs no GPU of the real cuDNN: does it accept our descriptors of tensors and operations?
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "artifact_schema/spans.h"
#include "runtime/cuda/cudnn_graph.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

#ifdef GART_TEST_LIBCUDNN

int finalized = 0;
cudnnStatus_t (*real_finalize)(cudnnBackendDescriptor_t) = nullptr;

CudnnFunctions real_functions() {
  CudnnFunctions f;
  void* library = dlopen(GART_TEST_LIBCUDNN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return f;
#define GART_FIND(result, name, ...) \
  f.name = reinterpret_cast<decltype(f.name)>(dlsym(library, #name)); \
  EXPECT_NE(f.name, nullptr) << #name;
  GART_CUDNN_FUNCTIONS(GART_FIND)
#undef GART_FIND
  real_finalize = f.cudnnBackendFinalize;
  f.cudnnBackendFinalize = [](cudnnBackendDescriptor_t d) {
    const cudnnStatus_t status = real_finalize(d);
    finalized += status == CUDNN_STATUS_SUCCESS;
    return status;
  };
  return f;
}

struct Described {
  fb::CallT call;
  std::vector<CallTensor> tensors;
  int descriptors;  // tensors, and two for each operation
};

CallTensor tensor(std::vector<int64_t> extents, std::vector<int64_t> strides) {
  return {fb::DType::f32, 0, std::move(extents), std::move(strides)};
}

std::vector<Described> descriptions() {
  std::vector<Described> all(3);
  for (Described& d : all) {
    d.call.operation = fb::Operation::convolution;
    d.call.strides = {2, 1}, d.call.dilations = {1, 1}, d.call.pads = {1, 1};
    // An axis of one element has no stride of its own.
    d.tensors = {tensor({1, 8, 16, 16}, {0, 256, 16, 1}), tensor({4, 8, 3, 3}, {72, 9, 3, 1}), tensor({1, 4, 8, 16}, {0, 128, 16, 1})};
    d.descriptors = 3 + 2;
  }
  all[1].call.bias = all[1].call.addend = true;
  all[1].call.activation = fb::Activation::relu;
  all[1].tensors.push_back(tensor({4}, {1}));
  all[1].tensors.push_back(all[1].tensors[2]);
  all[1].descriptors = 5 + 3 + 4 * 2;  // three sums that nobody stores
  all[2].call.strides = {2}, all[2].call.dilations = {1}, all[2].call.pads = {1};
  all[2].tensors = {tensor({2, 8, 16}, {128, 16, 1}), tensor({4, 8, 3}, {24, 3, 1}), tensor({2, 4, 8}, {32, 8, 1})};
  return all;
}

TEST(RealCudnn, AcceptsOurDescriptors) {
  const CudnnFunctions functions = real_functions();
  ASSERT_NE(real_finalize, nullptr);
  for (const Described& described : descriptions()) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Call::Pack(builder, &described.call));
    const CallProblem problem{flatbuffers::GetRoot<fb::Call>(builder.GetBufferPointer()), "step 'test'", described.tensors};
    finalized = 0;
    try {
      const CudnnGraph graph(functions, nullptr, problem);
      ADD_FAILURE() << "a graph without a handle";
    } catch (const Failure& failure) {  // only the graph of the operations wants a handle, and so a GPU
      EXPECT_EQ(failure.error.message.find("cudnnBackendSetAttribute of cuDNN"), 0u) << failure.error.message;
    }
    EXPECT_EQ(finalized, described.descriptors);
  }
}

#else

TEST(RealCudnn, AcceptsOurDescriptors) { GTEST_SKIP() << "no libcudnn.so.9 on this machine"; }

#endif

}  // namespace
}  // namespace gart::cuda
