// Attention by cuDNN, compared with the CPU's and with our own kernel's.
#include <algorithm>

#include "artifact_schema/reader.h"
#include "tests/cuda/libraries/attention_model.h"
#include "tests/cuda/libraries/bound_model.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

using gart_sim::sim_count;

/// All query heads share one head of keys and values.
constexpr const char* kSharedKeys = R"(graph g(%x: f32[2,7,64], %z: f32[2,19,64]) -> (%y) {
  constant %wq: f32[64,128] = random(1)
  constant %wk: f32[64,32] = random(2)
  constant %wv: f32[64,16] = random(3)
  constant %wo: f32[64,40] = random(4)
  constant %small: f32[] = {0.02}
  constant %heads: i64[4] = {2,7,4,32}
  constant %keys: i64[4] = {2,1,19,32}
  constant %values: i64[4] = {2,1,19,16}
  constant %width: i64[3] = {2,7,64}
  %q = MatMul(%x, %wq)
  %k = MatMul(%z, %wk)
  %v = MatMul(%z, %wv)
  %qs = Mul(%q, %small)
  %qh = Reshape(%qs, %heads)
  %qt = Transpose(%qh) {perm = [0,2,1,3]}
  %kh = Reshape(%k, %keys)
  %kt = Transpose(%kh) {perm = [0,1,3,2]}
  %vh = Reshape(%v, %values)
  %s = MatMul(%qt, %kt)
  %p = Softmax(%s) {axis = -1}
  %o = MatMul(%p, %vh)
  %ot = Transpose(%o) {perm = [0,2,1,3]}
  %r = Reshape(%ot, %width)
  %y = MatMul(%r, %wo)
})";

struct Model {
  const char* name;
  std::string gir;
  std::vector<Shape> inputs;
  uint64_t calls;  // in one run
};

const Model kModels[] = {
    {"Heads", self_attention(3, 32, "%t = Identity(%m)"), {{2, 37, 96}}, 1},
    {"OneQuery", self_attention(2, 64, "%t = Identity(%m)"), {{3, 1, 128}}, 1},
    {"OneHeadOfTheBatch", self_attention(1, 128, "%t = Identity(%m)"), {{2, 21, 128}}, 1},
    {"HeadsOfOddSizesAreOurs", self_attention(4, 20, "%t = Identity(%m)"), {{2, 9, 80}}, 0},
    {"MaskOfKeys", self_attention(2, 32, "%t = Add(%m, %a)", ", %a: f32[b,1,1,s]"), {{2, 9, 64}, {2, 1, 1, 9}}, 1},
    {"MaskOfAllScores",
     self_attention(2, 32, "%t = Add(%a, %m)", ", %a: f32[b,2,s,s]"),
     {{2, 11, 64}, {2, 2, 11, 11}},
     1},
    {"MaskOfOneRow", self_attention(2, 64, "%t = Add(%m, %a)", ", %a: f32[s,s]"), {{3, 7, 128}, {7, 7}}, 1},
    {"AFactorPerKeyIsOurs",
     self_attention(2, 32, "%t = Mul(%m, %a)", ", %a: f32[b,1,1,s]"),
     {{2, 9, 64}, {2, 1, 1, 9}},
     0},
    {"ATanhOfScoresIsOurs", self_attention(2, 32, "%t = Tanh(%m)"), {{2, 9, 64}}, 0},
};

class Attention : public WithLibraries, public testing::WithParamInterface<Model> {};
INSTANTIATE_TEST_SUITE_P(Models, Attention, testing::ValuesIn(kModels),
                         [](const auto& test) { return test.param.name; });

uint64_t filled_and_captured() { return sim_count("cudnnBackendPopulateCudaGraph") + sim_count("cudnnBackendExecute"); }

TEST_P(Attention, EqualsTheCpusAndOurKernels) {
  const Model& c = GetParam();
  const auto data = noise(c.inputs);
  const auto inputs = views(data, c.inputs);
  for (const auto precision : {gcg::Precision::fp16, gcg::Precision::bf16}) {
    const double tolerance = precision == gcg::Precision::bf16 ? 3e-2 : 3e-3;
    const auto own = compile_bound(c.gir, {}, precision);
    auto ours = load_on(own, "cuda")->run(std::span<const TensorView>(inputs));
    ASSERT_TRUE(ours) << ours.error().message;
    for (const bool fallbacks : {false, true}) {
      const auto artifact = compile_bound(c.gir, {{"cudnn"}, fallbacks}, precision);
      gart_sim::sim_forget_counts();
      const Program program = *load_on(artifact, "cuda");
      const uint64_t at_load = sim_count("graph_launches");
      for (const char* order : {"first_in", "last_in", "delay:1"}) {
        gart_sim::sim_set_order(order);
        auto out = program.run(std::span<const TensorView>(inputs));
        ASSERT_TRUE(out) << out.error().message;
        expect_close(floats(out->at(0)), on_cpu(artifact, inputs), tolerance);
        expect_close(floats(out->at(0)), floats(ours->at(0)), tolerance);
      }
      EXPECT_EQ(filled_and_captured(), c.calls);
      EXPECT_EQ(sim_count("graph_launches") - at_load, 3u);
    }
  }
}

class CudnnAttention : public WithLibraries {
 protected:
  const std::string gir = self_attention(3, 32, "%t = Identity(%m)");
  const std::vector<Shape> shapes = {{2, 37, 96}};
  const std::vector<std::vector<float>> data = noise(shapes);
  const std::vector<TensorView> inputs = views(data, shapes);

  std::vector<uint8_t> bound(bool fallbacks, gcg::Precision precision = gcg::Precision::fp16) const {
    return compile_bound(gir, {{"cudnn"}, fallbacks}, precision);
  }
  /// Runs once and checks the result; returns the number of cuDNN graphs that were made.
  uint64_t run_with(const std::vector<uint8_t>& artifact) const {
    gart_sim::sim_forget_counts();
    auto program = load_on(artifact, "cuda");
    EXPECT_TRUE(program) << program.error().message;
    auto out = program->run(std::span<const TensorView>(inputs));
    EXPECT_TRUE(out) << out.error().message;
    if (out) expect_close(floats(out->at(0)), on_cpu(artifact, inputs), 3e-3);
    return filled_and_captured();
  }
};

TEST_F(CudnnAttention, OfFloatsIsOurs) {
  for (const auto precision : {gcg::Precision::fp32, gcg::Precision::tf32})
    EXPECT_EQ(run_with(bound(true, precision)), 0u);
}

TEST_F(CudnnAttention, KeysAndValuesOfAllHeads) {
  const std::vector<Shape> shared_shapes = {{2, 7, 64}, {2, 19, 64}};
  const auto shared_data = noise(shared_shapes);
  const auto shared_inputs = views(shared_data, shared_shapes);
  const auto artifact = compile_bound(kSharedKeys, {{"cudnn"}, false}, gcg::Precision::fp16);
  auto out = load_on(artifact, "cuda")->run(std::span<const TensorView>(shared_inputs));
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(artifact, shared_inputs), 3e-3);
  EXPECT_EQ(filled_and_captured(), 1u);
}

TEST_F(CudnnAttention, IsCapturedWhereTheEngineFillsNoGraphs) {
  setenv("GART_SIM_CUDNN_FILLS", "0", 1);
  EXPECT_EQ(run_with(bound(false)), 1u);
  EXPECT_EQ(sim_count("cudnnBackendExecute"), 1u);
  unsetenv("GART_SIM_CUDNN_FILLS");
}

/// cuDNN 9.12 supports convolutions, but lacks this operation.
TEST_F(CudnnAttention, OlderVersionsAreNamedOrLeaveItToOurKernel) {
  setenv("GART_SIM_CUDNN", "91200", 1);
  auto program = load_on(bound(false), "cuda");
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("the model needs cudnn from 9.13.1 on and below 10.0.0 for step "),
            std::string::npos);
  EXPECT_NE(program.error().message.find("but: the installed version is 9.12.0"), std::string::npos)
      << program.error().message;
  EXPECT_EQ(run_with(bound(true)), 0u);
}

/// Number of library calls per target, in all of its plans.
std::vector<int> calls_of(const std::vector<uint8_t>& artifact) {
  ArtifactView view;
  EXPECT_TRUE(read_artifact(artifact, view).ok());
  std::vector<int> calls(view.manifest->targets()->size());
  for (const fb::Plan* plan : *view.manifest->entry_points()->Get(0)->plans())
    for (const fb::Sequence* sequence : *plan->sequences())
      for (const fb::Step* step : *sequence->steps()) calls[plan->target()] += step->kind() == fb::StepKind::call;
  return calls;
}

/// No engine supports sm_75, so our kernel runs there. Without fallbacks, no plan has the call.
TEST_F(CudnnAttention, OldGpusGetOurKernel) {
  const auto both = [&](bool fallbacks) {
    return compile_bound(gir, {{"cudnn"}, fallbacks, {"sm_75", "sm_80"}}, gcg::Precision::fp16);
  };
  EXPECT_EQ(calls_of(both(true)), (std::vector<int>{0, 1}));
  EXPECT_EQ(calls_of(both(false)), (std::vector<int>{0, 0}));
  EXPECT_EQ(calls_of(bound(false)), (std::vector<int>{0, 1}));
}

TEST_F(CudnnAttention, ConvolutionsBesideItTakeOlderVersions) {
  constexpr const char* kBoth = R"(graph g(%x: f32[1,16,6,8]) -> (%y) {
    constant %w: f32[16,16,1,1] = random(1)
    constant %u: f32[16,16,1,1] = random(2)
    constant %v: f32[16,16,1,1] = random(3)
    constant %z: f32[16,16,1,1] = random(4)
    constant %e: f32[16,16,1,1] = random(5)
    constant %f: f32[16,16,1,1] = random(6)
    constant %rows: i64[4] = {1,1,16,48}
    constant %back: i64[4] = {1,16,6,8}
    %a = Conv(%x, %w) {kernel_shape = [1,1]}
    %c = Conv(%a, %e) {kernel_shape = [1,1]}
    %d = Conv(%c, %f) {kernel_shape = [1,1]}
    %q = Conv(%d, %u) {kernel_shape = [1,1]}
    %k = Conv(%d, %v) {kernel_shape = [1,1]}
    %qr = Reshape(%q, %rows)
    %kr = Reshape(%k, %rows)
    %kt = Transpose(%kr) {perm = [0,1,3,2]}
    %s = MatMul(%qr, %kt)
    %p = Softmax(%s) {axis = -1}
    %o = MatMul(%p, %kr)
    %r = Reshape(%o, %back)
    %y = Conv(%r, %z) {kernel_shape = [1,1]}
  })";
  const std::vector<Shape> image = {{1, 16, 6, 8}};
  const auto pixels = noise(image);
  const auto artifact = compile_bound(kBoth, {{"cudnn"}, true}, gcg::Precision::fp16);
  uint64_t calls[2];
  for (const bool old : {false, true}) {
    setenv("GART_SIM_CUDNN", old ? "91200" : "91900", 1);
    gart_sim::sim_forget_counts();
    auto out = load_on(artifact, "cuda")->run(std::span<const TensorView>(views(pixels, image)));
    ASSERT_TRUE(out) << out.error().message;
    expect_close(floats(out->at(0)), on_cpu(artifact, views(pixels, image)), 1e-2);
    calls[old] = filled_and_captured();
  }
  EXPECT_EQ(calls[0], 3u);  // two of the convolutions have 16-bit, channels-last tensors on both sides
  EXPECT_EQ(calls[1], 2u);
}

TEST_F(CudnnAttention, ARefusalLeavesItToOurKernelOrNamesTheCall) {
  gart_sim::sim_forget_counts();
  const Program program = *load_on(bound(true), "cuda");
  gart_sim::sim_fail("cudnnBackendFinalize:1:3000");
  auto out = program.run(std::span<const TensorView>(inputs));
  gart_sim::sim_fail("");
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(bound(true), inputs), 3e-3);
  EXPECT_EQ(filled_and_captured(), 0u);

  const Program alone = *load_on(bound(false), "cuda");
  gart_sim::sim_forget_counts();
  gart_sim::sim_fail("cudnnBackendFinalize:1:3000");
  auto refused = alone.run(std::span<const TensorView>(inputs));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cudnnBackendFinalize of cuDNN 9.19.0 failed in step '"), std::string::npos);
}

}  // namespace
}  // namespace gart::test
