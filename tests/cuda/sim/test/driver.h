// Opens the simulated driver as a program would, and has short functions to call it.
#ifndef GART_TESTS_CUDA_SIM_TEST_DRIVER_H
#define GART_TESTS_CUDA_SIM_TEST_DRIVER_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda/sim/driver/abi.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gart_sim {

// The function `name` of libcuda.so.1. Arguments must have exactly the parameters' types.
template <class R = int, class... A>
R cu(const char* name, A... arguments) {
  static void* library = dlopen(GART_SIM_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
  const auto function = reinterpret_cast<R (*)(A...)>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function(arguments...);
}

// A context, a stream, and no findings at the start. At the end no object may be alive.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cu("cuInit", 0u), 0);
    cu<void>("gart_sim_revive");
    forget_reports();
    cu<void>("gart_sim_fail", "");
    cu<void>("gart_sim_forget_counts");
    ASSERT_EQ(cu("gart_sim_set_order", "mixed:1"), 1);
    ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context_, 0), 0);
    ASSERT_EQ(cu("cuCtxSetCurrent", context_), 0);
    ASSERT_EQ(cu("cuStreamCreateWithPriority", &stream_, 1u, 0), 0);
  }
  void TearDown() override {
    if (is_lost_) return cu<void>("gart_sim_revive");
    EXPECT_EQ(cu("cuStreamDestroy_v2", stream_), 0);
    for (void* module : modules_) EXPECT_EQ(cu("cuModuleUnload", module), 0);
    EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 0), 0);
    EXPECT_STREQ(cu<const char*>("gart_sim_alive"), "");
    EXPECT_EQ(next_report(), "");
  }

  static std::string next_report() {
    const char* text = cu<const char*>("gart_sim_take_report");
    return text ? text : "";
  }
  static void forget_reports() {
    while (!next_report().empty()) {
    }
  }
  // The report begins with the finding's name.
  static void expect_report(const std::string& finding) {
    const std::string report = next_report();
    EXPECT_TRUE(report.starts_with(finding + ":")) << finding << " expected, got: " << report;
  }
  static std::string compile(const std::string& text, Architecture architecture = {80}) {
    const Compiled compiled = compile_for_host({"test.cu", text, {}}, architecture);
    EXPECT_NE(compiled.module, "") << compiled.log;
    return compiled.module;
  }
  void* load(const std::string& text, const char* name, Architecture architecture = {80}) {
    void *module = nullptr, *function = nullptr;
    const std::string bytes = compile(text, architecture);
    EXPECT_EQ(
        cu("cuModuleLoadDataEx", &module, bytes.data(), 0u, static_cast<int*>(nullptr), static_cast<void**>(nullptr)),
        0);
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, name), 0);
    modules_.push_back(module);
    return function;
  }
  static DevicePointer allocate(size_t bytes) {
    DevicePointer address = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &address, bytes), 0);
    return address;
  }
  static void free_device(DevicePointer address) { EXPECT_EQ(cu("cuMemFree_v2", address), 0); }
  float* pinned(size_t count) {
    void* address = nullptr;
    EXPECT_EQ(cu("cuMemHostAlloc", &address, count * sizeof(float), 1u), 0);
    return static_cast<float*>(address);
  }
  int synchronize() { return cu("cuStreamSynchronize", stream_); }
  void is_lost() { is_lost_ = true; }

  void* context_ = nullptr;
  void* stream_ = nullptr;
  std::vector<void*> modules_;
  bool is_lost_ = false;
};

// Builds a graph of kernels with one block of 32 threads each.
class GraphBuilder {
 public:
  explicit GraphBuilder(void* context) : context_(context) { EXPECT_EQ(cu("cuGraphCreate", &graph_, 0u), 0); }
  ~GraphBuilder() {
    if (is_owned_)
      cu("cuGraphDestroy", graph_);  // Fails in a lost context. The check at the end finds a graph that remains.
  }
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;
  // The body of a conditional.
  GraphBuilder(void* context, void* body) : context_(context), graph_(body), is_owned_(false) {}

  static NodeParams params(int type) {
    NodeParams params;
    memset(&params, 0, sizeof params);
    params.type = type;
    return params;
  }
  void* add(NodeParams& params, const std::vector<void*>& after = {}) {
    void* node = nullptr;
    error_ = cu("cuGraphAddNode_v2", &node, graph_, after.data(), static_cast<const EdgeData*>(nullptr), after.size(),
                &params);
    return node;
  }
  template <class... A>
  void* kernel(void* function, const std::vector<void*>& after, A... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
    NodeParams node = params(kKernelNode);
    node.kernel = {function, {1, 1, 1}, {32, 1, 1}, 0, pointers, nullptr, nullptr, nullptr};
    return add(node, after);
  }
  void* instantiate() {
    void* exec = nullptr;
    InstantiateParams params = {0, nullptr, nullptr, 1};
    EXPECT_EQ(cu("cuGraphInstantiateWithParams", &exec, graph_, &params), 0);
    EXPECT_EQ(params.result, 0);
    return exec;
  }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] void* graph() const { return graph_; }
  [[nodiscard]] void* context() const { return context_; }

 private:
  void* context_;
  void* graph_ = nullptr;
  bool is_owned_ = true;
  int error_ = 0;
};

}  // namespace gart_sim
#endif
