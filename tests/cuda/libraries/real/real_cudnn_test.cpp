// Tests of the real cuDNN that need no GPU: cuDNN must accept our descriptors, and have engines for them on GPUs that
// exist only as descriptions.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>

#include "artifact_schema/spans.h"
#include "runtime/cuda/libraries/cudnn_engines.h"
#include "runtime/errors.h"

/// LeakSanitizer asks for this list. The libraries keep memory until the process ends.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcublasLt\nleak:libcudnn\n"; }

namespace gart::cuda {
namespace {

// The part of the library's interface that only this test uses.
constexpr auto kDeviceProperties = cudnnBackendDescriptorType_t(38);
constexpr auto kDevicePropertiesJson = cudnnBackendAttributeName_t(2702);
constexpr auto kHeuristicDevice = cudnnBackendAttributeName_t(204), kPlanDevice = cudnnBackendAttributeName_t(407);
constexpr auto kChar = cudnnBackendAttributeType_t(24);
constexpr cudnnStatus_t kDriverFailed = 5001;

#ifndef GART_TEST_LIBCUDNN
#define GART_TEST_LIBCUDNN ""
#endif
#ifndef GART_TEST_LIBNVRTC
#define GART_TEST_LIBNVRTC ""
#endif
#ifndef GART_TEST_LIBCUDA_STUB
#define GART_TEST_LIBCUDA_STUB ""
#endif

struct Described {
  std::string name;
  fb::CallT call;
  std::vector<CallTensor> tensors;
  int least_sm = 75;
};

CallTensor tensor(fb::DType dtype, std::vector<int64_t> extents, std::vector<int64_t> strides) {
  return {dtype, 0, std::move(extents), std::move(strides)};
}

Described convolution(const char* name, fb::DType dtype, bool extras, bool one_axis = false) {
  Described d{name, {}, {}, dtype == fb::DType::bf16 ? 80 : 75};
  d.call.operation = fb::Operation::convolution;
  d.call.strides = {2, 1}, d.call.dilations = {1, 1}, d.call.pads = {1, 1};
  // An axis of extent 1 has an arbitrary stride; the result is a slice of a larger tensor.
  d.tensors = {tensor(dtype, {1, 8, 16, 16}, {0, 256, 16, 1}), tensor(dtype, {4, 8, 3, 3}, {72, 9, 3, 1}),
               tensor(dtype, {1, 4, 8, 16}, {1024, 128, 16, 1})};
  if (one_axis) {
    d.call.strides = {2}, d.call.dilations = {1}, d.call.pads = {1};
    d.tensors = {tensor(dtype, {2, 8, 16}, {128, 16, 1}), tensor(dtype, {4, 8, 3}, {24, 3, 1}),
                 tensor(dtype, {2, 4, 8}, {32, 8, 1})};
  }
  if (!extras) return d;
  d.call.bias = d.call.addend = true;
  d.call.activation = fb::Activation::relu;
  d.tensors.push_back(tensor(dtype, {4}, {1}));
  d.tensors.push_back(d.tensors[2]);
  return d;
}

Described convolution_of_channels_last(const char* name, fb::DType dtype, bool extras) {
  Described d{name, {}, {}, dtype == fb::DType::bf16 ? 80 : 75};
  d.call.operation = fb::Operation::convolution;
  d.call.strides = {2, 1}, d.call.dilations = {1, 1}, d.call.pads = {1, 1};
  d.tensors = {tensor(dtype, {2, 16, 16, 16}, {4096, 1, 256, 16}), tensor(dtype, {8, 16, 3, 3}, {144, 1, 48, 16}),
               tensor(dtype, {2, 8, 8, 16}, {1024, 1, 128, 8})};
  if (!extras) return d;
  d.call.bias = d.call.addend = true;
  d.call.activation = fb::Activation::relu;
  d.tensors.push_back(tensor(dtype, {8}, {1}));
  d.tensors.push_back(d.tensors[2]);
  return d;
}

/// Heads are adjacent in rows, as projections write them.
Described attention(const char* name, fb::DType dtype, int64_t heads, int64_t key_heads, int64_t queries, int64_t keys,
                    int64_t head) {
  Described d{name, {}, {}, 80};
  d.call.operation = fb::Operation::attention;
  d.call.scale = 0.125f;
  const auto rows = [&](int64_t n, int64_t h) {
    return tensor(dtype, {2, h, n, head}, {n * h * head, head, h * head, 1});
  };
  d.tensors = {rows(queries, heads), rows(keys, key_heads), rows(keys, key_heads), rows(queries, heads)};
  return d;
}

/// A mask is added to the scores, with one number per score or per key. Addresses have no alignment.
Described masked(const char* name, fb::DType dtype, bool keys_alone) {
  Described d = attention(name, dtype, 12, 12, 77, 131, 64);
  d.call.addend = true;
  CallTensor mask = tensor(fb::DType::f32, {2, 12, 77, 131}, {77 * 131, 0, 131, 1});
  if (keys_alone) mask.strides = {131, 0, 0, 1};
  mask.offset = 1;
  d.tensors.push_back(mask);
  return d;
}

std::vector<Described> descriptions() {
  using fb::DType;
  std::vector<Described> all;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    all.push_back(convolution("a convolution", dtype, false));
    all.push_back(convolution("a convolution with all extras", dtype, true));
    all.push_back(convolution("a convolution over one axis", dtype, true, true));
    all.push_back(convolution_of_channels_last("a convolution of channels last", dtype, false));
    all.push_back(convolution_of_channels_last("a convolution of channels last with all extras", dtype, true));
    if (dtype == DType::f32) continue;
    all.push_back(attention("attention", dtype, 12, 12, 197, 197, 64));
    all.push_back(attention("attention of one query", dtype, 8, 8, 1, 77, 128));
    all.push_back(attention("attention with keys for all heads", dtype, 4, 1, 16, 33, 40));
    all.push_back(masked("attention with a mask", dtype, false));
    all.push_back(masked("attention with a mask of keys", dtype, true));
  }
  return all;
}

struct Gpu {
  int sm, processors, shared, threads;  // bytes of shared memory: per block, with opting in, and per multiprocessor
};
constexpr Gpu kGpus[] = {{75, 40, 65536, 1024},   {80, 108, 166912, 2048},  {86, 28, 101376, 1536},
                         {90, 132, 232448, 2048}, {100, 148, 232448, 2048}, {120, 170, 101376, 1536}};

std::string json(const Gpu& gpu) {
  const std::pair<const char*, int64_t> numbers[] = {{"deviceVer", gpu.sm * 10},
                                                     {"multiProcessorCount", gpu.processors},
                                                     {"warpSize", 32},
                                                     {"maxSharedMemoryPerBlock", 49152},
                                                     {"maxSharedMemoryPerBlockOptin", gpu.shared},
                                                     {"reservedSharedMemoryPerBlock", 1024},
                                                     {"maxRegistersPerSM", 65536},
                                                     {"maxCtasPerSM", 16},
                                                     {"maxThreadsPerBlock", 1024},
                                                     {"maxThreadsPerSM", gpu.threads},
                                                     {"regsPerBlock", 65536},
                                                     {"totalGlobalMem", int64_t{16} << 30},
                                                     {"smClockRateKHz", 1500000},
                                                     {"l2CacheSize", 32 << 20},
                                                     {"memClockRateKHz", 2000000},
                                                     {"supportCoopLaunch", 1},
                                                     {"pciDeviceId", 0},
                                                     {"isTccDriver", 0},
                                                     {"cudaDeviceId", 0},
                                                     {"driverVer", 13000}};
  std::ostringstream out;
  out << R"({"maxBlockSize":[1024,1024,64],"maxGridSize":[2147483647,65535,65535],"deviceName":"described")";
  for (const auto& [name, value] : numbers) out << ",\"" << name << "\":" << value;
  out << '}';
  return out.str();
}

class RealCudnn : public testing::Test {
 protected:
  static constexpr const char* kCudnn = GART_TEST_LIBCUDNN;

  void SetUp() override {
    if (*kCudnn == '\0') GTEST_SKIP() << "no libcudnn.so.9 on this machine";
    // cuDNN's compiling engines look up these driver functions by name. The toolkit's stub of the driver is enough,
    // though it does nothing.
    for (const char* path : {GART_TEST_LIBCUDA_STUB, GART_TEST_LIBNVRTC}) {
      if (*path == '\0') continue;
      ASSERT_NE(dlopen(path, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    }
    void* library = dlopen(kCudnn, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
#define GART_FIND(result, name, ...)                                  \
  f.name = reinterpret_cast<decltype(f.name)>(dlsym(library, #name)); \
  ASSERT_NE(f.name, nullptr) << #name;
    GART_CUDNN_FUNCTIONS(GART_FIND)
#undef GART_FIND
    compiles = f.cudnnGetVersion() >= 91301 && *GART_TEST_LIBCUDA_STUB != '\0' && *GART_TEST_LIBNVRTC != '\0';
  }

  bool has(const Described& d) const {
    return d.call.operation != fb::Operation::attention || f.cudnnGetVersion() >= 91301;
  }

  /// Calls `use` with the problem's graph.
  template <class Use>
  void with_graph(const Described& d, const Use& use) const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Call::Pack(builder, &d.call));
    const CallProblem problem{flatbuffers::GetRoot<fb::Call>(builder.GetBufferPointer()), "step '" + d.name + "'",
                              d.tensors};
    try {
      use(CudnnGraph(f, nullptr, problem));
    } catch (const Failure& failure) {
      ADD_FAILURE() << failure.error.message;
    }
  }

  std::vector<CudnnDescriptor> configurations(const CudnnGraph& graph, const CudnnDescriptor& device) const {
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    CudnnDescriptor heuristic(f, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, step);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.operations());
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
    heuristic.set(kHeuristicDevice, device);
    heuristic.finalize();
    std::vector<CudnnDescriptor> all;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (int64_t i = heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR); i > 0; --i) {
      all.emplace_back(f, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, step);
      handles.push_back(all.back().handle());
    }
    if (all.empty()) return all;
    const int64_t got =
        heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles.data(), handles.size());
    while (int64_t(all.size()) > got) all.pop_back();
    return all;
  }

  cudnnStatus_t plan(const CudnnDescriptor& configuration, const CudnnDescriptor& device) const {
    CudnnDescriptor plan(f, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, step);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    plan.set(kPlanDevice, device);
    return plan.try_finalize();
  }

  CudnnDescriptor device(const Gpu& gpu) const {
    CudnnDescriptor d(f, kDeviceProperties, step);
    const std::string text = json(gpu);
    d.set(kDevicePropertiesJson, kChar, text.data(), text.size());
    d.finalize();
    return d;
  }

  CudnnFunctions f;
  bool compiles = false;  // fields that engines need if they compile for the GPU
  const std::string step = "this test";
};

TEST_F(RealCudnn, AcceptsOurDescriptors) {
  for (const Described& d : descriptions())
    if (has(d)) with_graph(d, [](const CudnnGraph&) {});
}

TEST_F(RealCudnn, HasEnginesForWhatWeBind) {
  if (!compiles) GTEST_SKIP() << "no NVRTC, no stub of the driver, or cuDNN older than 9.13.1";
  for (const Gpu& gpu : kGpus) {
    const CudnnDescriptor described = device(gpu);
    for (const Described& d : descriptions()) {
      if (gpu.sm < d.least_sm) continue;
      with_graph(d, [&](const CudnnGraph& graph) {
        EXPECT_FALSE(configurations(graph, described).empty())
            << d.name << " on sm_" << gpu.sm << " of " << fb::EnumNameDType(d.tensors[0].dtype);
      });
    }
  }
}

/// Engines for attention compile a kernel, but the stub of the driver does not load it.
TEST_F(RealCudnn, MakesPlansOfThem) {
  if (!compiles) GTEST_SKIP() << "no NVRTC, no stub of the driver, or cuDNN older than 9.13.1";
  const CudnnDescriptor described = device(kGpus[3]);
  for (const Described& d : descriptions())
    with_graph(d, [&](const CudnnGraph& graph) {
      const std::vector<CudnnDescriptor> all = configurations(graph, described);
      ASSERT_FALSE(all.empty()) << d.name;
      const cudnnStatus_t status = plan(all[0], described);
      EXPECT_TRUE(status == CUDNN_STATUS_SUCCESS ||
                  (status == kDriverFailed && d.call.operation == fb::Operation::attention))
          << d.name << ": " << status;
    });
}

/// The numbers in tuning records name the same engine with the same knobs.
TEST_F(RealCudnn, RestoresEnginesFromTheirNumbers) {
  if (!compiles) GTEST_SKIP() << "no NVRTC, no stub of the driver, or cuDNN older than 9.13.1";
  constexpr size_t kOfEach = 1;
  const CudnnDescriptor described = device(kGpus[3]);
  size_t knobs = 0;
  for (const Described& d : descriptions())
    with_graph(d, [&](const CudnnGraph& graph) {
      const std::vector<CudnnDescriptor> all = configurations(graph, described);
      for (const CudnnDescriptor& proposed : std::span(all).first(std::min(kOfEach, all.size()))) {
        const std::vector<int64_t> numbers = numbers_of_engine(f, proposed, step);
        EXPECT_EQ(numbers.size() % 2, 1u);
        knobs += numbers.size() / 2;
        const std::vector<CudnnDescriptor> restored = stored_engine(f, graph, numbers, &described);
        EXPECT_EQ(numbers_of_engine(f, restored.back(), step), numbers) << d.name;
        EXPECT_EQ(plan(restored.back(), described), plan(proposed, described)) << d.name;
      }
    });
  EXPECT_GT(knobs, 0u);
}

}  // namespace
}  // namespace gart::cuda
