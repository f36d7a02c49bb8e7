// The simulated driver: its behaviour, and the mistakes that it finds.
#include "tests/cuda/sim/test/driver.h"

#include <cmath>

namespace gart_sim {
namespace {

constexpr const char* kKernels = R"(
extern "C" __global__ void __launch_bounds__(32) fill(float* a, float x) { a[threadIdx.x] = x; }
extern "C" __global__ void __launch_bounds__(32) add(float* a, const float* b, float x) { a[threadIdx.x] = b[threadIdx.x] + x; }
)";

struct Kernels {
  void *fill = nullptr, *add = nullptr;
};

class Driver : public DriverTest {
 protected:
  Kernels load_kernels() {
    Kernels kernels;
    kernels.fill = load(kKernels, "fill");
    EXPECT_EQ(cu("cuModuleGetFunction", &kernels.add, modules_.back(), "add"), 0);
    return kernels;
  }
  template <class... A>
  int launch(void* function, unsigned threads, unsigned shared, A... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
    return cu("cuLaunchKernel", function, 1u, 1u, 1u, threads, 1u, 1u, shared, stream_, static_cast<void**>(pointers),
              static_cast<void**>(nullptr));
  }
  int read(float* to, DevicePointer from, size_t count) {
    return cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(to), from, count * sizeof(float), stream_);
  }
};

TEST_F(Driver, runs_a_stream_only_when_waited_for) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128), b = allocate(128);
  float* host = pinned(32);
  memset(host, 0, 128);
  EXPECT_EQ(launch(kernels.fill, 32, 0, a, 2.0f), 0);
  EXPECT_EQ(launch(kernels.add, 32, 0, b, a, 3.0f), 0);
  EXPECT_EQ(read(host, b, 32), 0);
  EXPECT_EQ(cu("cuStreamQuery", stream_), kNotReady);
  EXPECT_EQ(host[0], 0.0f);
  EXPECT_EQ(synchronize(), 0);
  EXPECT_EQ(host[31], 5.0f);
  EXPECT_EQ(cu("cuStreamQuery", stream_), 0);
  EXPECT_EQ(cu<uint64_t>("gart_sim_count", "kernels"), 2u);
  EXPECT_EQ(cu("cuMemFreeHost", static_cast<void*>(host)), 0);
  free_device(a);
  free_device(b);
}

TEST_F(Driver, runs_a_graph_with_one_launch_in_every_order) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128), b = allocate(128);
  float* host = pinned(32);
  GraphBuilder graph(context_);
  void* first = graph.kernel(kernels.fill, {}, a, 1.0f);
  void* second = graph.kernel(kernels.add, {first}, b, a, 1.0f);
  NodeParams copy = GraphBuilder::params(kCopyNode);
  copy.copy.ctx = context_;
  copy.copy.copy.src = {0, 0, 0, 0, 2, nullptr, b, nullptr, nullptr, 0, 0};
  copy.copy.copy.dst = {0, 0, 0, 0, 1, host, 0, nullptr, nullptr, 0, 0};
  copy.copy.copy.width = 128;
  copy.copy.copy.height = copy.copy.copy.depth = 1;
  graph.add(copy, {second});
  void* exec = graph.instantiate();
  for (const char* order : {"first_in", "last_in", "random:3", "delay:0", "delay:1", "delay:2", "mixed"}) {
    memset(host, 0, 128);
    EXPECT_EQ(cu("gart_sim_set_order", order), 1);
    EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
    EXPECT_TRUE(std::isnan(host[7])) << "neither old nor new before the wait";
    EXPECT_EQ(synchronize(), 0);
    EXPECT_EQ(host[7], 2.0f) << order;
  }
  EXPECT_EQ(cu<uint64_t>("gart_sim_count", "graph_launches"), 7u);
  float x = 10.0f;
  void* arguments[] = {const_cast<DevicePointer*>(&a), &x};
  NodeParams params = GraphBuilder::params(kKernelNode);
  params.kernel = {kernels.fill, {1, 1, 1}, {32, 1, 1}, 0, arguments, nullptr, nullptr, nullptr};
  EXPECT_EQ(cu("cuGraphExecNodeSetParams", exec, first, &params), 0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
  EXPECT_EQ(synchronize(), 0);
  EXPECT_EQ(host[7], 11.0f);
  EXPECT_EQ(cu("cuGraphExecDestroy", exec), 0);
  EXPECT_EQ(cu("cuMemFreeHost", static_cast<void*>(host)), 0);
  free_device(a);
  free_device(b);
}

class MissingEdge : public Driver, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Orders, MissingEdge, testing::Values("first_in", "last_in", "random:3", "delay:0", "delay:1"));

TEST_P(MissingEdge, is_found) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128), b = allocate(128);
  EXPECT_EQ(launch(kernels.fill, 32, 0, a, 0.0f), 0);
  GraphBuilder graph(context_);
  graph.kernel(kernels.fill, {}, a, 1.0f);
  graph.kernel(kernels.add, {}, b, a, 1.0f);
  void* exec = graph.instantiate();
  EXPECT_EQ(cu("gart_sim_set_order", GetParam()), 1);
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
  EXPECT_EQ(synchronize(), kLaunchFailed);
  expect_report("graph_race");
  is_lost();
}

TEST_F(Driver, finds_streams_that_nothing_orders_and_takes_events) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128);
  void *other = nullptr, *event = nullptr;
  EXPECT_EQ(cu("cuStreamCreateWithPriority", &other, 1u, 0), 0);
  EXPECT_EQ(cu("cuEventCreate", &event, 2u), 0);
  for (const bool ordered : {true, false}) {
    EXPECT_EQ(launch(kernels.fill, 32, 0, a, 1.0f), 0);
    if (ordered) {
      EXPECT_EQ(cu("cuEventRecord", event, stream_), 0);
      EXPECT_EQ(cu("cuStreamWaitEvent", other, event, 0u), 0);
    }
    std::swap(stream_, other);
    EXPECT_EQ(launch(kernels.add, 32, 0, a, a, 1.0f), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), ordered ? 0 : kLaunchFailed);
    std::swap(stream_, other);
  }
  expect_report("graph_race");
  is_lost();
}

TEST_F(Driver, finds_two_launches_of_one_executable_at_once) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128);
  void* other = nullptr;
  EXPECT_EQ(cu("cuStreamCreateWithPriority", &other, 1u, 0), 0);
  GraphBuilder graph(context_);
  graph.kernel(kernels.fill, {}, a, 1.0f);
  void* exec = graph.instantiate();
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);  // After the first.
  EXPECT_EQ(cu("cuGraphLaunch", exec, other), kLaunchFailed);
  expect_report("exec_overlap");
  is_lost();
}

TEST_F(Driver, finds_memory_used_after_it_is_freed) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128);
  free_device(a);
  EXPECT_EQ(launch(kernels.fill, 32, 0, a, 1.0f), 0);
  EXPECT_EQ(synchronize(), kIllegalAddress);
  expect_report("out_of_bounds");
  EXPECT_EQ(launch(kernels.fill, 32, 0, a, 1.0f), kIllegalAddress) << "every later call fails so";
  is_lost();
}

TEST_F(Driver, finds_reads_of_what_nothing_has_written) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(256);
  EXPECT_EQ(launch(kernels.fill, 32, 0, a + 64, 1.0f), 0);
  EXPECT_EQ(launch(kernels.add, 32, 0, a + 64, a + 64, 1.0f), 0);
  EXPECT_EQ(synchronize(), 0);
  EXPECT_EQ(launch(kernels.add, 32, 0, a, a + 68, 1.0f), 0);
  EXPECT_EQ(synchronize(), kLaunchFailed);
  expect_report("uninitialised");
  is_lost();
}

TEST_F(Driver, keeps_the_host_out_of_device_memory) {
  const DevicePointer a = allocate(128);
  EXPECT_DEATH(*reinterpret_cast<volatile float*>(a) = 1.0f, "");
  free_device(a);
}

TEST_F(Driver, has_no_more_memory_than_it_says) {
  const uint64_t used = cu<uint64_t>("gart_sim_used_bytes", 0);
  cu<void>("gart_sim_set_memory", static_cast<size_t>(used + 1000));
  DevicePointer a = 0;
  EXPECT_EQ(cu("cuMemAlloc_v2", &a, size_t{1001}), kOutOfMemory);
  EXPECT_EQ(cu("cuMemAlloc_v2", &a, size_t{1000}), 0);
  size_t available = 1, total = 0;
  EXPECT_EQ(cu("cuMemGetInfo_v2", &available, &total), 0);
  EXPECT_EQ(available, 0u);
  cu<void>("gart_sim_set_memory", size_t{16} << 30);
  free_device(a);
}

TEST_F(Driver, fails_the_call_that_it_is_told_to) {
  cu<void>("gart_sim_forget_counts");
  cu<void>("gart_sim_fail", "cuMemAlloc_v2:2:2,3:700");
  DevicePointer a = 0, b = 0;
  EXPECT_EQ(cu("cuMemAlloc_v2", &a, size_t{64}), 0);
  EXPECT_EQ(cu("cuMemAlloc_v2", &b, size_t{64}), kOutOfMemory);
  EXPECT_EQ(cu("cuMemFree_v2", a), kIllegalAddress);
  EXPECT_EQ(synchronize(), kIllegalAddress) << "the error stays";
  is_lost();
}

TEST_F(Driver, fails_the_kernel_that_it_is_told_to) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128);
  cu<void>("gart_sim_fail", "kernels:2:719");
  EXPECT_EQ(launch(kernels.fill, 32, 0, a, 1.0f), 0);
  EXPECT_EQ(launch(kernels.fill, 32, 0, a, 1.0f), 0);
  EXPECT_EQ(synchronize(), kLaunchFailed);
  is_lost();
}

TEST_F(Driver, names_what_is_not_freed) {
  const DevicePointer a = allocate(128);
  EXPECT_STREQ(cu<const char*>("gart_sim_alive"), "1 allocations, 1 streams, 1 retained contexts");
  free_device(a);
}

TEST_F(Driver, refuses_wrong_arguments) {
  const Kernels kernels = load_kernels();
  const DevicePointer a = allocate(128);
  EXPECT_EQ(launch(kernels.fill, 64, 0, a, 1.0f), kLaunchOutOfResources);  // Its bounds say 32.
  expect_report("api_misuse");
  EXPECT_EQ(launch(kernels.fill, 32, 49153, a, 1.0f), kInvalidValue);
  expect_report("api_misuse");
  EXPECT_EQ(cu("cuFuncSetAttribute", kernels.fill, 8, 163 * 1024), 0);
  EXPECT_EQ(launch(kernels.fill, 32, 49153, a, 1.0f), 0);
  EXPECT_EQ(cu("cuFuncSetAttribute", kernels.fill, 8, 163 * 1024 + 1), kInvalidValue);
  expect_report("api_misuse");
  EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", a, static_cast<const void*>("x"), size_t{129}, stream_), kInvalidValue);
  expect_report("api_misuse");
  EXPECT_EQ(cu("cuMemFree_v2", a + 4), kInvalidValue);
  expect_report("api_misuse");
  EXPECT_EQ(cu("cuGraphLaunch", stream_, stream_), kInvalidHandle);
  expect_report("api_misuse");
  {
    GraphBuilder graph(context_);
    NodeParams empty = GraphBuilder::params(kEmptyNode);
    empty.bytes[100] = 1;
    graph.add(empty);
    EXPECT_EQ(graph.error(), kInvalidValue) << "unused bytes must be zero";
    expect_report("api_misuse");
    empty.bytes[100] = 0;
    void* node = graph.add(empty);
    graph.add(empty, {node, node});
    EXPECT_EQ(graph.error(), kInvalidValue) << "a dependency given twice";
    expect_report("api_misuse");
    NodeParams fill = GraphBuilder::params(kMemsetNode);
    fill.memset = {a, 0, 256, 1, 4, 1, context_};
    graph.add(fill);
    EXPECT_EQ(graph.error(), kInvalidValue) << "256 is no byte";
    expect_report("api_misuse");
  }
  EXPECT_EQ(synchronize(), 0);
  free_device(a);
}

TEST_F(Driver, loads_only_code_for_its_device) {
  struct Case {
    Architecture architecture;
    int sm, driver, result;
  };
  constexpr Case cases[] = {{{80}, 86, 13000, 0},
                            {{86}, 80, 13000, kNoBinaryForGpu},
                            {{80}, 87, 13000, kNoBinaryForGpu},
                            {{90, 'a'}, 90, 13000, 0},
                            {{80}, 90, 13000, kNoBinaryForGpu},
                            {{80}, 80, 12060, kInvalidImage},
                            {{80, 0, false, true, 12}, 80, 12060, 0},
                            {{80, 0, true}, 120, 13000, 0},
                            {{80, 0, true}, 80, 12060, kUnsupportedPtxVersion}};
  for (const Case& c : cases) {
    const std::string bytes = compile(kKernels, c.architecture);
    cu<void>("gart_sim_set_sm", c.sm);
    cu<void>("gart_sim_set_driver_version", c.driver);
    void* module = nullptr;
    EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void*>(bytes.data())), c.result)
        << c.architecture.sm << " on " << c.sm;
    if (c.result == 0) {
      EXPECT_EQ(cu("cuModuleUnload", module), 0);
    }
  }
  cu<void>("gart_sim_set_sm", 80);
  cu<void>("gart_sim_set_driver_version", 13000);
}

constexpr const char* kConditional = R"(
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
extern "C" __global__ void __launch_bounds__(32) count(int* n, unsigned long long handle, int limit) {
  if (threadIdx.x) return;
  *n = *n + 1;
  cudaGraphSetConditional(handle, *n < limit);
}
)";

TEST_F(Driver, runs_while_nodes) {
  void* count = load(kConditional, "count");
  const DevicePointer n = allocate(4);
  EXPECT_EQ(cu("cuMemsetD32Async", n, 0u, size_t{1}, stream_), 0);
  GraphBuilder graph(context_);
  unsigned long long handle = 0;
  EXPECT_EQ(cu("cuGraphConditionalHandleCreate", &handle, graph.graph(), context_, 1u, 1u), 0);
  NodeParams loop = GraphBuilder::params(kConditionalNode);
  loop.conditional = {handle, kWhile, 1, nullptr, context_};
  graph.add(loop);
  ASSERT_EQ(graph.error(), 0);
  GraphBuilder body(context_, loop.conditional.bodies[0]);
  body.kernel(count, {}, n, handle, 5);
  void* exec = graph.instantiate();
  int host = 0;
  for (const int expected : {5, 6}) {
    EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
    EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(&host), n, size_t{4}, stream_), 0);
    EXPECT_EQ(host, expected);
  }
  EXPECT_EQ(cu("cuGraphExecDestroy", exec), 0);
  free_device(n);
}

TEST(Compiler, compiles_by_the_functions_of_nvrtc) {
  void* library = dlopen(GART_SIM_LIBNVRTC, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto call = [library](const char* name, auto... arguments) {
    return reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(library, name))(arguments...);
  };
  void* program = nullptr;
  const char* text =
      "#include \"half.cuh\"\nextern \"C\" __global__ void __launch_bounds__(64) k(float* a) {"
      " __shared__ float s[8]; s[threadIdx.x % 8] = half(*a); a[1] = s[0]; }";
  const char* header = "inline float half(float x) { return x / 2; }";
  const char* name = "half.cuh";
  ASSERT_EQ(call("nvrtcCreateProgram", &program, text, "k.cu", 1, &header, &name), 0);
  const char* wrong[] = {"--gpu-architecture=sm_81"};
  EXPECT_EQ(call("nvrtcCompileProgram", program, 1, static_cast<const char* const*>(wrong)), 5);
  const char* options[] = {"--gpu-architecture=sm_80", "--std=c++17", "-default-device", "--ptxas-options=-v"};
  EXPECT_EQ(call("nvrtcCompileProgram", program, 4, static_cast<const char* const*>(options)), 0);
  size_t size = 0, log_size = 0;
  EXPECT_EQ(call("nvrtcGetCUBINSize", program, &size), 0);
  EXPECT_GT(size, 1000u);
  EXPECT_EQ(call("nvrtcGetProgramLogSize", program, &log_size), 0);
  std::string log(log_size, ' ');
  EXPECT_EQ(call("nvrtcGetProgramLog", program, log.data()), 0);
  EXPECT_NE(log.find("Used 32 registers, used 1 barriers, 32 bytes smem"), std::string::npos) << log;
  EXPECT_EQ(call("nvrtcDestroyProgram", &program), 0);
  EXPECT_EQ(program, nullptr);
}

}  // namespace
}  // namespace gart_sim
