#include "tests/cuda/runtime/cuda_models.h"

#include <stdexcept>

#include "artifact_schema/container.h"
#include "codegen/cuda/conditional_kernel.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gart::test {
namespace {

constexpr uint32_t kThreads = 16;

constexpr const char* kKernels = R"(
extern "C" __global__ void __launch_bounds__(16) test_add(const float* a, const float* b, float* out, long long n, void* workspace,
    unsigned* status) {
  const long long i = blockIdx.x * 16LL + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
extern "C" __global__ void __launch_bounds__(16) test_subtract(const float* a, const float* b, float* out, long long n, void* workspace,
    unsigned* status) {
  const long long i = blockIdx.x * 16LL + threadIdx.x;
  if (i < n) out[i] = a[i] - b[i];
}
// Uses the workspace, whose size is the scratch slot's value.
extern "C" __global__ void __launch_bounds__(16) test_double(const float* a, float* out, long long n, void* workspace,
    unsigned* status) {
  const long long i = blockIdx.x * 16LL + threadIdx.x;
  float* scratch = static_cast<float*>(workspace);
  if (i >= n) return;
  scratch[i] = a[i] + a[i];
  out[i] = scratch[i];
}
extern "C" __global__ void __launch_bounds__(16) test_gather(const float* data, const long long* index, float* out, long long n, long long m, void* workspace,
    unsigned* status) {
  const long long i = blockIdx.x * 16LL + threadIdx.x;
  if (i >= n) return;
  long long at = index[i];
  if (at < 0 || at >= m) {
    *status = 1;
    at = 0;
  }
  out[i] = data[at];
}
extern "C" __global__ void __launch_bounds__(16) test_count_positive(const float* a, long long* count, long long n, void* workspace,
    unsigned* status) {
  if (threadIdx.x != 0) return;
  long long found = 0;
  for (long long i = 0; i < n; ++i) found += a[i] > 0;
  *count = found;
}
extern "C" __global__ void __launch_bounds__(16) test_positives(const float* a, float* out, long long n, void* workspace,
    unsigned* status) {
  if (threadIdx.x != 0) return;
  for (long long i = 0; i < n; ++i)
    if (a[i] > 0) *out++ = a[i];
}
extern "C" __global__ void __launch_bounds__(16) test_below(const float* value, unsigned char* below, long long limit, void* workspace,
    unsigned* status) {
  if (threadIdx.x == 0) *below = static_cast<long long>(*value) < limit;
}
)";

/// test_double needs room for all its elements: 4 bytes for each, which is the size of its output.
void give_workspace(fb::PlanT& plan, fb::KernelT& kernel, uint32_t number) {
  for (const auto& sequence : plan.sequences) {
    for (const auto& step : sequence->steps) {
      if (step->kind == fb::StepKind::launch && step->kernel == number) {
        kernel.scratch = plan.buffers[step->operands[1]]->size;
      }
    }
  }
}

void make_cuda(fb::PlanT& plan) {
  for (uint32_t i = 0; i < plan.kernels.size(); ++i) {
    fb::KernelT& kernel = *plan.kernels[i];
    kernel.symbol = kernel.name;
    kernel.offset = 0;
    kernel.size = cuda_module().size();
    kernel.threads = kThreads;
    kernel.may_fail = kernel.name == "test_gather";
    if (kernel.name == "test_double") give_workspace(plan, kernel, i);
  }
}

void make_cuda(fb::TargetT& target, unsigned sm = 80) {
  target.name = "sm_" + std::to_string(sm);
  target.kind = fb::TargetKind::cuda_sm;
  target.features = 0;
  target.sm = sm;
  target.driver = 12060;
}

/// A builder's kernels are found by name in its CPU blob, which these models do not use.
const KernelBlob& names() {
  static const KernelBlob blob{{}, {{"test_add", 0}, {"test_subtract", 0}, {"test_double", 0}, {"test_gather", 0}}};
  return blob;
}

struct Extents {
  uint32_t n, bytes, tasks, none;
};

Extents extents(ArtifactBuilder& b, uint32_t n) {
  Extents e{n, 0, 0, b.constant(0)};
  const uint32_t four = b.constant(4), fifteen = b.constant(15), sixteen = b.constant(16);
  e.bytes = b.instruction(fb::ExprOp::mul, n, four);
  e.tasks = b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, n, fifteen), sixteen);
  return e;
}

}  // namespace

namespace {

std::vector<uint8_t> compile(const char* text, int sm = 80) {
  gart_sim::Architecture architecture;
  architecture.sm = sm;
  const gart_sim::Compiled compiled = gart_sim::compile_for_host({"test_kernels.cu", text, {}}, architecture);
  if (compiled.module.empty()) throw std::runtime_error(compiled.log);
  return {compiled.module.begin(), compiled.module.end()};
}

}  // namespace

const std::vector<uint8_t>& cuda_module() {
  static const std::vector<uint8_t> module = compile(kKernels);
  return module;
}

ArtifactBuilder on_cuda(ArtifactBuilder model) {
  for (const auto& plan : model.entry().plans) make_cuda(*plan);
  make_cuda(*model.content.manifest.targets[0]);
  model.content.code = {cuda_module()};
  return model;
}

ArtifactBuilder with_conditional_kernel(ArtifactBuilder model) {
  static const std::vector<uint8_t> module = compile(gcg::cuda::kConditionalKernelText);
  model = on_cuda(std::move(model));
  std::vector<uint8_t>& code = model.content.code[0];
  code.resize(align_up(code.size(), 64));
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->symbol = gcg::cuda::kConditionalKernelSymbol;
  kernel->offset = code.size();
  kernel->size = module.size();
  kernel->threads = 1;
  model.content.manifest.targets[0]->conditional_kernel = std::move(kernel);
  code.insert(code.end(), module.begin(), module.end());
  return model;
}

ArtifactBuilder on_sm_90(ArtifactBuilder model) {
  static const std::vector<uint8_t> module = compile(kKernels, 90),
                                    conditional_kernel = compile(gcg::cuda::kConditionalKernelText, 90);
  std::vector<uint8_t>& code = model.content.code[0];
  code = module;
  for (const auto& plan : model.entry().plans)
    for (const auto& kernel : plan->kernels) kernel->size = module.size();
  make_cuda(*model.content.manifest.targets[0], 90);
  if (fb::KernelT* kernel = model.content.manifest.targets[0]->conditional_kernel.get()) {
    code.resize(align_up(code.size(), 64));
    kernel->offset = code.size();
    kernel->size = conditional_kernel.size();
    code.insert(code.end(), conditional_kernel.begin(), conditional_kernel.end());
  }
  return model;
}

ArtifactBuilder with_cuda(ArtifactBuilder model) {
  const size_t plans = model.entry().plans.size();
  for (size_t i = 0; i < plans; ++i) {
    std::swap(model.entry().plans[0], model.entry().plans[i]);  // copy_plan copies the first plan
    fb::PlanT& copy = model.copy_plan();
    std::swap(model.entry().plans[0], model.entry().plans[i]);
    make_cuda(copy);
    copy.target = 1;
  }
  model.content.manifest.targets.push_back(std::make_unique<fb::TargetT>());
  make_cuda(*model.content.manifest.targets.back());
  model.content.code.push_back(cuda_module());
  return model;
}

ArtifactBuilder two_streams() {
  using enum fb::BufferKind;
  ArtifactBuilder b(&names());
  const Extents e = extents(b, b.symbol("n", 0, 0));
  b.input("x", fb::DType::f32, {e.n});
  b.input("y", fb::DType::f32, {e.n});
  b.output("out", fb::DType::f32, {e.n});
  const uint32_t x = b.buffer(input, 0, e.bytes), y = b.buffer(input, 1, e.bytes), out = b.buffer(output, 0, e.bytes);
  const uint32_t sum = b.buffer(temporary, 0, e.bytes), difference = b.buffer(temporary, 0, e.bytes),
                 twice_sum = b.buffer(temporary, 0, e.bytes), twice_difference = b.buffer(temporary, 0, e.bytes);
  b.plan().placement = {sum, difference, twice_sum, twice_difference};
  b.plan().buffers[difference]->conflicts = {sum};
  b.plan().buffers[twice_sum]->conflicts = {sum, difference};
  b.plan().buffers[twice_difference]->conflicts = {sum, difference, twice_sum};
  b.plan().streams = 2;
  const uint32_t add = b.kernel("test_add", 3, 1, e.none), subtract = b.kernel("test_subtract", 3, 1, e.none),
                 twice = b.kernel("test_double", 2, 1, e.none);
  b.launch(add, {x, y, sum}, {e.n}, e.tasks, {2});
  b.launch(subtract, {x, y, difference}, {e.n}, e.tasks, {2}).stream = 1;
  b.launch(twice, {sum, twice_sum}, {e.n}, e.tasks, {1});
  b.launch(twice, {difference, twice_difference}, {e.n}, e.tasks, {1}).stream = 1;
  b.launch(add, {twice_sum, twice_difference, out}, {e.n}, e.tasks, {2}).waits = {3};
  b.close_sequence();
  return on_cuda(std::move(b));
}

ArtifactBuilder gathering() {
  using enum fb::BufferKind;
  ArtifactBuilder b(&names());
  const uint32_t n = b.symbol("n", 1, 0), m = b.symbol("m", 0, 0);
  const Extents e = extents(b, n);
  const uint32_t data_bytes = b.instruction(fb::ExprOp::mul, m, b.constant(4)),
                 index_bytes = b.instruction(fb::ExprOp::mul, n, b.constant(8));
  b.input("data", fb::DType::f32, {m});
  b.input("index", fb::DType::i64, {n});
  b.output("y", fb::DType::f32, {n});
  const uint32_t data = b.buffer(input, 0, data_bytes), index = b.buffer(input, 1, index_bytes),
                 y = b.buffer(output, 0, e.bytes), gathered = b.buffer(temporary, 0, e.bytes);
  b.plan().placement = {gathered};
  b.launch(b.kernel("test_gather", 3, 2, e.none), {data, index, gathered}, {n, m}, e.tasks, {2}).source = "Gather_3";
  b.launch(b.kernel("test_double", 2, 1, e.none), {gathered, y}, {n}, e.tasks, {1}).source = "Mul_4";
  b.close_sequence();
  return on_cuda(std::move(b));
}

}  // namespace gart::test
