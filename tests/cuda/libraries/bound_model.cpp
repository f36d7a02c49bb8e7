#include "tests/cuda/libraries/bound_model.h"

#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <random>
#include <utility>

#include "codegen/cpu/cpu_backend.h"
#include "codegen/cuda/cuda_backend.h"
#include "codegen/library/library_binder.h"
#include "compiler/gir/gir.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

[[maybe_unused]] const bool entered = [] {
  setenv("GART_SIM_EXEC_OVERLAP", "1", 1);  // a run may be enqueued before the previous one has ended
  setenv("GART_SIM_QUIET", "1", 1);
  gart_sim::enter_simulation(80);
  return true;
}();

template <class F, class... A>
int driver(const char* name, A... arguments) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F>(dlsym(library, name))(arguments...);
}

}  // namespace

std::vector<uint8_t> compile_bound(const std::string& gir, const Binding& binding, gcg::Precision precision) {
  static const gcg::Backends backends = [] {
    gcg::Backends all;
    all.push_back(gcg::cpu::make_cpu_backend());
    all.push_back(gcg::cuda::make_cuda_backend(gart_sim::simulation_cache()));
    return all;
  }();
  gcg::CompileOptions options;
  options.targets = binding.targets;
  options.precision = precision;
  options.libraries.fallbacks = binding.fallbacks;
  options.decisions = binding.decisions;
  if (!binding.libraries.empty()) options.libraries.binder = gcg::library::make_library_binder(binding.libraries);
  return gcg::compile(gcg::parse_graph(gir), "", options, backends).artifact;
}

std::vector<std::vector<float>> noise(const std::vector<Shape>& shapes, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<std::vector<float>> out;
  for (const Shape& shape : shapes) {
    out.emplace_back(static_cast<size_t>(shape.elements()));
    for (float& x : out.back()) x = value(random);
  }
  return out;
}

std::vector<TensorView> views(const std::vector<std::vector<float>>& data, const std::vector<Shape>& shapes) {
  std::vector<TensorView> out;
  for (size_t i = 0; i < data.size(); ++i) out.push_back({data[i].data(), DType::f32, shapes[i]});
  return out;
}

std::vector<float> floats(const TensorView& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.shape.elements()));
  std::memcpy(out.data(), tensor.data, out.size() * sizeof(float));
  return out;
}

std::vector<float> floats(const Tensor& tensor) {
  const auto elements = tensor.elements<float>();
  return {elements.begin(), elements.end()};
}

std::string error_with(const std::string& failure, const std::vector<uint8_t>& artifact,
                       const std::vector<TensorView>& inputs) {
  gart_sim::sim_forget_counts();
  gart_sim::sim_fail(failure);
  std::string error;
  if (auto program = load_on(artifact, "cuda"); !program) {
    error = program.error().message;
  } else if (auto out = program->run(std::span<const TensorView>(inputs)); !out) {
    error = out.error().message;
  }
  gart_sim::sim_fail("");
  return error;
}

void drop_edge(uint64_t k) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  reinterpret_cast<void (*)(uint64_t)>(dlsym(library, "gart_sim_drop_edge"))(k);
}

void expect_close(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(double{want[i]}));
    error = std::isfinite(got[i]) ? std::max(error, std::abs(double{got[i]} - want[i])) : INFINITY;
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(error, tolerance * largest);
}

Result<Program> load_on(const std::vector<uint8_t>& artifact, const std::string& device) {
  LoadOptions options;
  options.device = device;
  options.threads = 1;
  return load(std::span<const uint8_t>(artifact), options);
}

Result<Program> load_on(std::vector<uint8_t>&& artifact, const std::string& device) {
  static std::deque<std::vector<uint8_t>> kept;
  return load_on(std::as_const(kept.emplace_back(std::move(artifact))), device);
}

std::vector<float> on_cpu(const std::vector<uint8_t>& artifact, const std::vector<TensorView>& inputs) {
  auto outputs = load_on(artifact, "cpu")->run(std::span<const TensorView>(inputs));
  EXPECT_TRUE(outputs) << outputs.error().message;
  return floats(outputs->at(0));
}

DeviceArray::DeviceArray(size_t count) {
  EXPECT_EQ(driver<int (*)(unsigned)>("cuInit", 0u), 0);
  EXPECT_EQ((driver<int (*)(void**, int)>("cuDevicePrimaryCtxRetain", &context_, 0)), 0);
  EXPECT_EQ(driver<int (*)(void*)>("cuCtxSetCurrent", context_), 0);
  EXPECT_EQ((driver<int (*)(unsigned long long*, size_t)>("cuMemAlloc_v2", &address_, count * sizeof(float))), 0);
}

DeviceArray::~DeviceArray() {
  EXPECT_EQ(driver<int (*)(void*)>("cuCtxSetCurrent", context_), 0);
  EXPECT_EQ(driver<int (*)(unsigned long long)>("cuMemFree_v2", address_), 0);
  driver<int (*)(void*)>("cuCtxSetCurrent", static_cast<void*>(nullptr));
  EXPECT_EQ(driver<int (*)(int)>("cuDevicePrimaryCtxRelease_v2", 0), 0);
}

void DeviceArray::write(const std::vector<float>& values, size_t at) const {
  using Copy = int (*)(unsigned long long, const void*, size_t, void*);
  driver<int (*)(void*)>("cuCtxSetCurrent", context_);
  EXPECT_EQ((driver<Copy>("cuMemcpyHtoDAsync_v2", address_ + at * 4, static_cast<const void*>(values.data()),
                          values.size() * 4, static_cast<void*>(nullptr))),
            0);
  EXPECT_EQ(driver<int (*)(void*)>("cuStreamSynchronize", static_cast<void*>(nullptr)), 0);
}

std::vector<float> DeviceArray::read(size_t count, size_t at) const {
  using Copy = int (*)(void*, unsigned long long, size_t, void*);
  std::vector<float> values(count);
  driver<int (*)(void*)>("cuCtxSetCurrent", context_);
  EXPECT_EQ((driver<Copy>("cuMemcpyDtoHAsync_v2", static_cast<void*>(values.data()), address_ + at * 4, count * 4,
                          static_cast<void*>(nullptr))),
            0);
  EXPECT_EQ(driver<int (*)(void*)>("cuStreamSynchronize", static_cast<void*>(nullptr)), 0);
  return values;
}

void WithLibraries::SetUp() {
  gart_sim::sim_fail("");
  gart_sim::sim_revive();
  gart_sim::sim_set_order("mixed:1");
  gart_sim::sim_reports();
  gart_sim::sim_forget_counts();
  unsetenv("GART_SIM_CUBLASLT");
  unsetenv("GART_SIM_CUDNN");
}

void WithLibraries::TearDown() {
  gart_sim::sim_fail("");
  EXPECT_EQ(gart_sim::sim_reports(), std::vector<std::string>{});
  EXPECT_EQ(gart_sim::sim_alive(), "");
}

}  // namespace gart::test
