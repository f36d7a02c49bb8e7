// Launches with tensor maps: maps are encoded for the current addresses and extents, and encoded again only when these
// change. Numbers that TMA does not support cause an error.
#include <functional>
#include <stdexcept>

#include "runtime/cuda/driver/driver_api.h"
#include "tests/cuda/runtime/allocation_count.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gart {
namespace {

using test::floats;
using test::ramp;
using test::view;

constexpr uint32_t kColumns = 16, kBoxRows = 8;

/// negate: t = -x, f32[rows, 16]; copy_boxes: y = t, a box of 8 rows per block.
constexpr const char* kKernels = R"(
struct alignas(64) Map { unsigned char bytes[128]; };
extern "C" __global__ void __launch_bounds__(16) negate(const float* x, float* t, long long n, void* workspace, unsigned* status) {
  const long long i = blockIdx.x * 16LL + threadIdx.x;
  if (i < n) t[i] = -x[i];
}
extern "C" __global__ void __launch_bounds__(16) copy_boxes(const float* t, float* y, long long n, void* workspace, unsigned* status,
    const __grid_constant__ Map map) {
  GART_SHARED(raw);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(raw + 1024);
  if (threadIdx.x == 0) {
    gart_mbarrier_init(full, 1);
    gart_fence_proxy_async();
    gart_mbarrier_expect(full, 8 * 16 * 4);
    const int at[2] = {0, (int)blockIdx.x * 8};
    gart_copy_box(raw, map, at, full);
  }
  __syncthreads();
  gart_mbarrier_try_wait(full, 0);
  for (int row = 0; row < 8; ++row) {
    const long long i = (blockIdx.x * 8LL + row) * 16 + threadIdx.x;
    if (i < n) y[i] = reinterpret_cast<const float*>(raw)[row * 16 + threadIdx.x];
  }
}
)";

const std::vector<uint8_t>& module() {
  static const std::vector<uint8_t> bytes = [] {
    const gart_sim::Compiled compiled = gart_sim::compile_for_host({"boxes.cu", kKernels, {}}, {90, 'a', false});
    if (compiled.module.empty()) throw std::runtime_error(compiled.log);
    return std::vector<uint8_t>(compiled.module.begin(), compiled.module.end());
  }();
  return bytes;
}

fb::KernelT& set_kernel(fb::KernelT& kernel, uint32_t shared) {
  kernel.symbol = kernel.name;
  kernel.offset = 0;
  kernel.size = module().size();
  kernel.threads = 16;
  kernel.shared = shared;
  return kernel;
}

/// The slots of the model that determine its map.
struct MapSlots {
  uint32_t offset, columns, rows, stride;
};

test::ArtifactBuilder boxes(const std::function<void(test::ArtifactBuilder&, MapSlots&)>& change = nullptr) {
  using enum fb::BufferKind;
  static const test::KernelBlob names{{}, {{"negate", 0}, {"copy_boxes", 0}}};
  test::ArtifactBuilder b(&names);
  const uint32_t rows = b.symbol("rows", 0, 0);
  const uint32_t columns = b.constant(kColumns), zero = b.constant(0), four = b.constant(4), eight = b.constant(8),
                 seven = b.constant(7);
  const uint32_t n = b.instruction(fb::ExprOp::mul, rows, columns), bytes = b.instruction(fb::ExprOp::mul, n, four);
  const uint32_t tasks = b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, rows, seven), eight);
  MapSlots slots{zero, columns, rows, columns};
  if (change) change(b, slots);
  b.input("x", fb::DType::f32, {rows, columns});
  b.output("y", fb::DType::f32, {rows, columns});
  const uint32_t x = b.buffer(input, 0, bytes), y = b.buffer(output, 0, bytes), t = b.buffer(temporary, 0, bytes);
  b.plan().placement = {t};
  b.launch(b.kernel("negate", 2, 1, zero), {x, t}, {n}, rows, {1}).source = "Neg_1";
  fb::StepT& copy = b.launch(b.kernel("copy_boxes", 2, 1, zero), {t, y},
                             {n, slots.offset, slots.columns, slots.rows, slots.stride}, tasks, {1});
  copy.source = "Copy_2";
  copy.maps.push_back(std::make_unique<fb::TensorMapT>());
  copy.maps[0]->dtype = fb::DType::f32;
  copy.maps[0]->box = {kColumns, kBoxRows};
  b.close_sequence();
  set_kernel(*b.plan().kernels[0], 0);
  set_kernel(*b.plan().kernels[1], 1024 + 16).maps = 1;
  fb::TargetT& target = *b.content.manifest.targets[0];
  target.name = "sm_90a";
  target.kind = fb::TargetKind::cuda_sm;
  target.features = 0;
  target.sm = 90;
  target.driver = 13000;
  b.content.code = {module()};
  return b;
}

class TensorMaps : public test::OnSim {
 protected:
  void SetUp() override {
    OnSim::SetUp();
    sim.set_sm(90);
  }
  static Result<Program> load(test::ArtifactBuilder builder) { return test::load_model(builder, {.device = "cuda:0"}); }
  static TensorView matrix(const std::vector<float>& values) {
    TensorView v = view(values);
    v.shape = {int64_t(values.size() / kColumns), kColumns};
    return v;
  }
  static std::string run(const Program& program, size_t rows) {
    const std::vector<float> x = ramp(rows * kColumns);
    auto out = program.run(std::vector<TensorView>{matrix(x)});
    if (!out) return out.error().message;
    std::vector<float> want(x.size());
    for (size_t i = 0; i < x.size(); ++i) want[i] = -x[i];
    return floats(out->at(0)) == want ? "" : "wrong values";
  }
};

TEST_F(TensorMaps, FollowShapesAndAddresses) {
  const Program program = *load(boxes());
  for (const size_t rows : {1, 8, 9, 100, 1000, 0, 9}) EXPECT_EQ(run(program, rows), "") << rows;
}

TEST_F(TensorMaps, AreEncodedOnceWhileNothingMoves) {
  const Program program = *load(boxes());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation);
  const std::vector<float> x = ramp(20 * kColumns);
  ASSERT_TRUE(invocation->set_input(0, matrix(x)));
  ASSERT_TRUE(invocation->run());
  EXPECT_GE(sim.count("cuTensorMapEncodeTiled"), 1u);
  sim.forget_counts();
  const int64_t before = test::allocations();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(invocation->run());
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(sim.count("cuTensorMapEncodeTiled"), 0u);
  EXPECT_EQ(sim.count("cuGraphLaunch"), 5u);
  const std::vector<float> more = ramp(500 * kColumns);  // the arena grows and moves
  ASSERT_TRUE(invocation->set_input(0, matrix(more)));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(sim.count("cuTensorMapEncodeTiled"), 1u);
}

TEST_F(TensorMaps, NumbersThatTheGpuDoesNotTakeAreRefusedInWords) {
  struct Nonsense {
    const char* message;
    std::function<void(test::ArtifactBuilder&, MapSlots&)> change;
  };
  const std::string
      head = "step 'Copy_2' copies boxes of operand 0, where number ",
      tail = ": extents are 1 to 2^32, strides and addresses multiples of 16 bytes below 2^40, all within 1280";
  const Nonsense all[] = {
      {"3 of offset, extents, strides is 2", [](auto& b, auto& s) { s.stride = b.constant(2); }},
      {"3 of offset, extents, strides is 1099511627776",
       [](auto& b, auto& s) { s.stride = b.constant(int64_t{1} << 40); }},
      {"3 of offset, extents, strides is -4", [](auto& b, auto& s) { s.stride = b.constant(-4); }},
      {"1 of offset, extents, strides is 4294967297",
       [](auto& b, auto& s) { s.columns = b.constant((int64_t{1} << 32) + 1); }},
      {"1 of offset, extents, strides is -1", [](auto& b, auto& s) { s.columns = b.constant(-1); }},
      {"1 of offset, extents, strides is -9223372036854775808",
       [](auto& b, auto& s) { s.columns = b.constant(INT64_MIN); }},
      {"2 of offset, extents, strides is 21", [](auto& b, auto& s) { s.rows = b.constant(21); }},
      {"0 of offset, extents, strides is 2",
       [](auto& b, auto& s) { s.offset = b.constant(2), s.columns = b.constant(8); }},
      {"0 of offset, extents, strides is -1", [](auto& b, auto& s) { s.offset = b.constant(-1); }},
  };
  for (const Nonsense& nonsense : all) {
    const Program program = *load(boxes(nonsense.change));
    EXPECT_EQ(run(program, 20), head + nonsense.message + tail);
  }
  EXPECT_EQ(sim.count("cuTensorMapEncodeTiled"), 0u);
}

TEST_F(TensorMaps, AFailingDriverIsNamedWithItsStep) {
  const Program program = *load(boxes());
  sim.forget_counts();
  sim.fail("cuTensorMapEncodeTiled:1:1");
  EXPECT_EQ(run(program, 20),
            "cuTensorMapEncodeTiled failed on cuda:0 in step 'Copy_2': invalid argument (CUDA_ERROR_INVALID_VALUE)");
  sim.fail("");
  EXPECT_EQ(run(program, 20), "");
}

TEST_F(TensorMaps, AnyCallMayFail) {
  const auto use = [&] {
    Result<Program> program = load(boxes());
    if (!program) return program.error().message;
    const std::string first = run(*program, 20);
    return first.empty() ? run(*program, 300) : first;
  };
  ASSERT_EQ(use(), "");
  sim.forget_counts();
  ASSERT_EQ(use(), "");
  const char* const functions[] = {"cuTensorMapEncodeTiled",   "cuGraphAddNode_v2", "cuGraphInstantiateWithParams",
                                   "cuGraphExecNodeSetParams", "cuMemAlloc_v2",     "cuGraphLaunch"};
  std::vector<uint64_t> calls;
  for (const char* name : functions) calls.push_back(sim.count(name));
  for (size_t f = 0; f < calls.size(); ++f)
    for (uint64_t k = 1; k <= calls[f]; ++k)
      for (const int code : {2, 999, 700}) {
        const std::string failure = functions[f] + (":" + std::to_string(k) + ":" + std::to_string(code));
        sim.forget_counts();
        sim.fail(failure.c_str());
        const bool builds_anew = failure.starts_with("cuGraphExecNodeSetParams") && code != 700;
        EXPECT_EQ(use().empty(), builds_anew) << failure;
        sim.fail("");
        EXPECT_EQ(sim.reports(), std::vector<std::string>{}) << failure;
        ASSERT_STREQ(sim.alive(), "") << failure;
        sim.revive();
      }
}

}  // namespace
}  // namespace gart
