// A launch of clusters whose tensor maps describe the caller's own buffers: images with a sliding window (im2col), and
// results stored as boxes. Buffers may have any address. If a tensor map does not support an address, the buffer is
// copied first.
#include <functional>
#include <stdexcept>

#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/device_array.h"
#include "tests/cuda/runtime/sim.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gart {
namespace {

using test::DeviceArray;
using test::floats;
using test::ramp;

/// x: f32 images of 3 rows of 4 pixels of 4 channels; each image is a row of x. y has the same shape: its pixel (i, j)
/// is pixel (i - 1 + 2, j - 1) of x. A block computes 8 pixels, a cluster 16.
constexpr uint32_t kImage = 3 * 4 * 4, kPixels = 12, kBoxPixels = 8;
constexpr const char* kKernel = R"(
struct alignas(64) Map { unsigned char bytes[128]; };
extern "C" __global__ void __launch_bounds__(32) __cluster_dims__(2, 1, 1) shift(const float* x, float* y, void* workspace,
    unsigned* status, const __grid_constant__ Map from, const __grid_constant__ Map to) {
  GART_SHARED(raw);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(raw + 128);
  const int pixel = blockIdx.x / 2 * 16 + gart_cluster_rank() * 8;
  if (threadIdx.x == 0) {
    gart_mbarrier_init(full, 1);
    gart_fence_proxy_async();
    gart_mbarrier_expect(full, 8 * 16);
    const int at[4] = {0, pixel % 4 - 1, pixel / 4 % 3 - 1, pixel / 12}, place[2] = {0, pixel};
    gart_copy_im2col(raw, from, at, 2, 0, full);
    gart_mbarrier_try_wait(full, 0);
    gart_store_box(to, raw, place);
    gart_store_commit();
    gart_store_wait<0>();
  }
}
)";

const std::vector<uint8_t>& module() {
  static const std::vector<uint8_t> bytes = [] {
    const gart_sim::Compiled compiled = gart_sim::compile_for_host({"shift.cu", kKernel, {}}, {90, 'a', false});
    if (compiled.module.empty()) throw std::runtime_error(compiled.log);
    return std::vector<uint8_t>(compiled.module.begin(), compiled.module.end());
  }();
  return bytes;
}

test::ArtifactBuilder images(const std::function<void(fb::PlanT&)>& change = nullptr, int64_t blocks_more = 0) {
  using enum fb::BufferKind;
  static const test::KernelBlob names{{}, {{"shift", 0}}};
  test::ArtifactBuilder b(&names);
  const uint32_t rows = b.symbol("rows", 0, 0);
  const auto number = [&](int64_t n) { return b.constant(n); };
  const auto times = [&](uint32_t a, int64_t n) { return b.instruction(fb::ExprOp::mul, a, number(n)); };
  const uint32_t bytes = times(rows, kImage * 4), pixels = times(rows, kPixels);
  const uint32_t clusters =
      b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, pixels, number(15)), number(16));
  const uint32_t blocks = b.instruction(fb::ExprOp::add, times(clusters, 2), number(blocks_more));
  const uint32_t zero = number(0), three = number(3), four = number(4);
  b.input("x", fb::DType::f32, {rows, number(kImage)});
  b.output("y", fb::DType::f32, {rows, number(kImage)});
  const uint32_t x = b.buffer(input, 0, bytes), y = b.buffer(output, 0, bytes);
  fb::StepT& step = b.launch(
      b.kernel("shift", 2, 0, zero), {x, y},
      {zero, four, four, three, rows, four, number(16), number(kImage), zero, four, pixels, four}, blocks, {1});
  step.source = "Shift_1";
  auto from = std::make_unique<fb::TensorMapT>();
  from->dtype = fb::DType::f32;
  from->kind = fb::MapKind::im2col;
  from->box = {4, 1, 1, 1};
  from->lower = {-1, -1};
  from->upper = {-1, -1};
  from->pixels = kBoxPixels;
  auto to = std::make_unique<fb::TensorMapT>();
  to->operand = 1;
  to->dtype = fb::DType::f32;
  to->box = {4, kBoxPixels};
  step.maps.push_back(std::move(from));
  step.maps.push_back(std::move(to));
  b.close_sequence();
  fb::KernelT& kernel = *b.plan().kernels[0];
  kernel.symbol = kernel.name;
  kernel.offset = 0;
  kernel.size = module().size();
  kernel.threads = 32;
  kernel.shared = 128 + 16;
  kernel.maps = 2;
  kernel.cluster = 2;
  if (change) change(b.plan());
  fb::TargetT& target = *b.content.manifest.targets[0];
  target.name = "sm_90a";
  target.kind = fb::TargetKind::cuda_sm;
  target.features = 0;
  target.sm = 90;
  target.driver = 13000;
  b.content.code = {module()};
  return b;
}

std::vector<float> shifted(const std::vector<float>& x) {
  std::vector<float> y(x.size(), 0.0f);
  for (size_t image = 0; image < x.size() / kImage; ++image)
    for (int row = 1; row < 3; ++row)
      for (int column = 0; column < 3; ++column)
        for (int c = 0; c < 4; ++c)
          y[image * kImage + static_cast<size_t>((row * 4 + column) * 4 + c)] =
              x[image * kImage + static_cast<size_t>(((row - 1) * 4 + column + 1) * 4 + c)];
  return y;
}

class ImageMaps : public test::OnSim {
 protected:
  void SetUp() override {
    OnSim::SetUp();
    sim.set_sm(90);
  }
  static Result<Program> load(test::ArtifactBuilder builder) { return test::load_model(builder, {.device = "cuda:0"}); }
  static std::string run(const Program& program, size_t rows) {
    const std::vector<float> x = ramp(rows * kImage);
    const TensorView view{x.data(), DType::f32, Shape{int64_t(rows), kImage}};
    auto out = program.run(std::vector<TensorView>{view});
    if (!out) return out.error().message;
    return floats(out->at(0)) == shifted(x) ? "" : "wrong values";
  }
};

TEST_F(ImageMaps, AWindowGoesOverTheImagesOfAnyBatch) {
  const Program program = *load(images());
  for (const size_t rows : {1, 2, 3, 50, 0, 2}) EXPECT_EQ(run(program, rows), "") << rows;
}

TEST_F(ImageMaps, TheCallersBuffersMayLieAnywhere) {
  const Program program = *load(images());
  constexpr size_t kRows = 5, kCount = kRows * kImage;
  DeviceArray x(sim, kCount), y(sim, kCount);
  for (const size_t at : {0, 1, 2, 3, 4, 5, 0, 8, 15}) {
    const std::vector<float> values = ramp(kCount, float(at));
    x.write(values, at);
    y.write(std::vector<float>(kCount, -7.0f), at);
    auto invocation = program.new_invocation();
    ASSERT_TRUE(invocation);
    const Shape shape{int64_t{kRows}, int64_t{kImage}};
    ASSERT_TRUE(invocation->set_input(0, {x.data() + at, DType::f32, shape, "cuda:0"}));
    ASSERT_TRUE(invocation->set_output(0, {y.data() + at, kCount * sizeof(float), DType::f32, "cuda:0"}));
    const auto done = invocation->run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(y.read(at), shifted(values)) << at;
  }
}

TEST_F(ImageMaps, BlocksThatFillNoClusterAreRefusedInWords) {
  EXPECT_EQ(run(*load(images(nullptr, 1)), 2),
            "step 'Shift_1' has 5 thread blocks, not a multiple of the 2 of a cluster");
}

TEST_F(ImageMaps, AFailingDriverIsNamedWithItsStep) {
  const Program program = *load(images());
  sim.forget_counts();
  sim.fail("cuTensorMapEncodeIm2col:1:1");
  EXPECT_EQ(run(program, 2),
            "cuTensorMapEncodeIm2col failed on cuda:0 in step 'Shift_1': invalid argument (CUDA_ERROR_INVALID_VALUE)");
  sim.fail("");
  EXPECT_EQ(run(program, 2), "");
}

}  // namespace
}  // namespace gart
