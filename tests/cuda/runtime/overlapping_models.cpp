// Models whose launches overlap, with their kernels for sm_90.
#include <cstring>
#include <stdexcept>

#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gart::test {
namespace {

// Kernels that compute out = in * weights[i % 16] with overlapping launches: a correct one, then some with bugs.
constexpr const char* kOverlappingKernels = R"(
#if __CUDA_ARCH__ >= 900
#define TRIGGER gart_griddepcontrol_launch_dependents();
#define WAIT gart_griddepcontrol_wait();
#else
#define TRIGGER
#define WAIT
#endif
#define PARAMETERS const float* in, const float* weights, float* out, long long n, void* workspace, unsigned* status
#define BODY(before, after)                           \
  TRIGGER                                              \
  const long long i = blockIdx.x * 16LL + threadIdx.x; \
  const float w = weights[threadIdx.x];                \
  float v = 0;                                         \
  before after                                        \
  if (i < n) out[i] = w * v;
extern "C" __global__ void __launch_bounds__(16) test_scale(PARAMETERS) { BODY(WAIT, if (i < n) v = in[i];) }
extern "C" __global__ void __launch_bounds__(16) test_hasty(PARAMETERS) { BODY(if (i < n) v = in[i];, WAIT) }
extern "C" __global__ void __launch_bounds__(16) test_heedless(PARAMETERS) { BODY(, if (i < n) v = in[i];) }
)";

std::vector<uint8_t> compile(const gart_sim::Architecture& architecture) {
  const gart_sim::Compiled compiled =
      gart_sim::compile_for_host({"test_kernels.cu", kOverlappingKernels, {}}, architecture);
  if (compiled.module.empty()) throw std::runtime_error(compiled.log);
  return {compiled.module.begin(), compiled.module.end()};
}

/// This module contains the model's only kernel.
void set_code(ArtifactBuilder& model, const std::vector<uint8_t>& module) {
  model.content.code = {module};
  model.plan().kernels[0]->size = module.size();
}

}  // namespace

ArtifactBuilder overlapping(const char* kernel) {
  using enum fb::BufferKind;
  static const KernelBlob names{{}, {{"test_scale", 0}, {"test_hasty", 0}, {"test_heedless", 0}}};
  ArtifactBuilder b(&names);
  const uint32_t n = b.symbol("n", 0, 0), none = b.constant(0), line = b.constant(64);
  const uint32_t bytes = b.instruction(fb::ExprOp::mul, n, b.constant(4));
  const uint32_t blocks =
      b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, n, b.constant(15)), b.constant(16));
  const std::vector<float> twos(16, 2);
  b.content.weights.resize(64);
  std::memcpy(b.content.weights.data(), twos.data(), b.content.weights.size());
  b.input("x", fb::DType::f32, {n});
  b.output("out", fb::DType::f32, {n});
  const uint32_t x = b.buffer(input, 0, bytes), out = b.buffer(output, 0, bytes), weights = b.buffer(constant, 0, line),
                 first = b.buffer(temporary, 0, bytes), second = b.buffer(temporary, 0, bytes);
  b.plan().placement = {first, second};
  b.plan().buffers[second]->conflicts = {first};
  const uint32_t scale = b.kernel(kernel, 3, 1, none);
  b.launch(scale, {x, weights, first}, {n}, blocks, {2}).source = "Mul_1";
  b.launch(scale, {first, weights, second}, {n}, blocks, {2}).source = "Mul_2";
  b.launch(scale, {second, weights, out}, {n}, blocks, {2}).source = "Mul_3";
  b.close_sequence();
  b = on_cuda(std::move(b));
  static const std::vector<uint8_t> module = compile({.sm = 90});
  set_code(b, module);
  b.content.manifest.targets[0]->name = "sm_90";
  b.content.manifest.targets[0]->sm = 90;
  b.plan().kernels[0]->waits = true;
  b.plan().kernels[0]->ahead = {1};
  for (size_t i : {1, 2}) b.plan().sequences[0]->steps[i]->overlaps = true;
  return b;
}

ArtifactBuilder on_ptx(ArtifactBuilder model) {
  set_code(model, compile({.sm = 80, .is_virtual = true}));
  fb::TargetT& target = *model.content.manifest.targets[0];
  target.name = "ptx";
  target.kind = fb::TargetKind::cuda_ptx;
  target.sm = 80;
  return model;
}

}  // namespace gart::test
