// Convolutions by cuDNN, compared with the CPU's.
#include "tests/cuda/libraries/bound_model.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

using gart_sim::sim_count;

struct Convolution {
  const char* name;
  std::string gir;
  std::vector<Shape> inputs;
  uint64_t calls;  // in one run
};

const Convolution kConvolutions[] = {
    {"BiasAndRelu",
     R"(graph g(%x: f32[2,6,9,11]) -> (%y) {
       constant %w: f32[8,6,3,3] = random(1)
       constant %b: f32[8] = random(2)
       %c = Conv(%x, %w, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
       %y = Relu(%c)
     })",
     {{2, 6, 9, 11}},
     1},
    {"ResidualBiasAndRelu",
     R"(graph g(%x: f32[1,6,9,11], %r: f32[1,8,9,11]) -> (%y) {
       constant %w: f32[8,6,3,3] = random(1)
       constant %b: f32[8] = random(2)
       %c = Conv(%x, %w, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
       %s = Add(%c, %r)
       %y = Relu(%s)
     })",
     {{1, 6, 9, 11}, {1, 8, 9, 11}},
     1},
    {"StridesDilationsAndUnequalPads",
     R"(graph g(%x: f32[1,3,20,17]) -> (%y) {
       constant %w: f32[5,3,3,2] = random(1)
       %y = Conv(%x, %w) {kernel_shape = [3,2], pads = [2,0,1,3], strides = [2,3], dilations = [2,1]}
     })",
     {{1, 3, 20, 17}},
     1},
    {"WindowsThatStopShortOfTheEnd",
     R"(graph g(%x: f32[1,3,10,10]) -> (%y) {
       constant %w: f32[5,3,3,3] = random(1)
       %y = Conv(%x, %w) {kernel_shape = [3,3], strides = [2,2]}
     })",
     {{1, 3, 10, 10}},
     1},
    {"Pointwise",
     R"(graph g(%x: f32[2,6,5,5]) -> (%y) {
       constant %w: f32[8,6,1,1] = random(1)
       constant %b: f32[8] = random(2)
       %y = Conv(%x, %w, %b) {kernel_shape = [1,1]}
     })",
     {{2, 6, 5, 5}},
     1},
    {"DepthwiseIsOurs",
     R"(graph g(%x: f32[1,6,8,8]) -> (%y) {
       constant %w: f32[6,1,3,3] = random(1)
       %y = Conv(%x, %w) {kernel_shape = [3,3], group = 6, pads = [1,1,1,1]}
     })",
     {{1, 6, 8, 8}},
     0},
    {"Groups",
     R"(graph g(%x: f32[1,8,7,7]) -> (%y) {
       constant %w: f32[6,4,3,3] = random(1)
       %y = Conv(%x, %w) {kernel_shape = [3,3], group = 2}
     })",
     {{1, 8, 7, 7}},
     1},
    {"OneAxis",
     R"(graph g(%x: f32[2,4,30]) -> (%y) {
       constant %w: f32[6,4,5] = random(1)
       constant %b: f32[6] = random(2)
       %c = Conv(%x, %w, %b) {kernel_shape = [5], pads = [2,2], strides = [2]}
       %y = Relu(%c)
     })",
     {{2, 4, 30}},
     1},
    {"SymbolicBatchAndSize",
     R"(graph g(%x: f32[n,4,h,12]) -> (%y) {
       constant %w: f32[6,4,3,3] = random(1)
       %y = Conv(%x, %w) {kernel_shape = [3,3], pads = [1,1,1,1]}
     })",
     {{3, 4, 7, 12}},
     1},
    {"IntoAConcatenation",
     R"(graph g(%x: f32[2,4,6,6]) -> (%y) {
       constant %w: f32[6,4,3,3] = random(1)
       constant %v: f32[5,4,1,1] = random(2)
       %a = Conv(%x, %w) {kernel_shape = [3,3], pads = [1,1,1,1]}
       %b = Conv(%x, %v) {kernel_shape = [1,1]}
       %y = Concat(%a, %b) {axis = 1}
     })",
     {{2, 4, 6, 6}},
     2},
    {"ActivationsWithoutABiasAreOurs",
     R"(graph g(%x: f32[1,4,6,6]) -> (%y) {
       constant %w: f32[6,4,3,3] = random(1)
       %c = Conv(%x, %w) {kernel_shape = [3,3]}
       %y = Relu(%c)
     })",
     {{1, 4, 6, 6}},
     0},
    {"SigmoidIsOurs",
     R"(graph g(%x: f32[1,4,6,6]) -> (%y) {
       constant %w: f32[6,4,3,3] = random(1)
       %c = Conv(%x, %w) {kernel_shape = [3,3]}
       %y = Sigmoid(%c)
     })",
     {{1, 4, 6, 6}},
     0},
    {"WeightsThatAreNoConstantsAreOurs",
     R"(graph g(%x: f32[1,4,6,6], %w: f32[6,4,3,3]) -> (%y) {
       %y = Conv(%x, %w) {kernel_shape = [3,3]}
     })",
     {{1, 4, 6, 6}, {6, 4, 3, 3}},
     0},
};

class Conv : public WithLibraries, public testing::WithParamInterface<Convolution> {};
INSTANTIATE_TEST_SUITE_P(Convolutions, Conv, testing::ValuesIn(kConvolutions),
                         [](const auto& test) { return test.param.name; });

uint64_t graphs_filled_and_captured() {
  return sim_count("cudnnBackendPopulateCudaGraph") + sim_count("cudnnBackendExecute");
}

TEST_P(Conv, EqualsTheCpus) {
  const Convolution& convolution = GetParam();
  const auto data = noise(convolution.inputs);
  const auto inputs = views(data, convolution.inputs);
  for (const bool fallbacks : {false, true}) {
    for (const char* fills : {"1", "0"}) {
      setenv("GART_SIM_CUDNN_FILLS", fills, 1);
      const auto artifact = compile_bound(convolution.gir, {{"cudnn"}, fallbacks});
      gart_sim::sim_forget_counts();
      const Program program = *load_on(artifact, "cuda");
      for (const char* order : {"first_in", "last_in", "delay:1"}) {
        gart_sim::sim_set_order(order);
        auto out = program.run(std::span<const TensorView>(inputs));
        ASSERT_TRUE(out) << out.error().message;
        expect_close(floats(out->at(0)), on_cpu(artifact, inputs));
      }
      EXPECT_EQ(graphs_filled_and_captured(), convolution.calls);
      EXPECT_EQ(sim_count(*fills == '1' ? "cudnnBackendExecute" : "cudnnBackendPopulateCudaGraph"), 0u);
      EXPECT_EQ(sim_count("graph_launches"), 3u);
    }
  }
  unsetenv("GART_SIM_CUDNN_FILLS");
}

/// Activations, weights and biases have 16 bits; the first convolution reads the caller's f32 image.
TEST_F(WithLibraries, ConvolutionsOf16BitsHoldTheirPrecision) {
  constexpr const char* kNetwork = R"(graph g(%x: f32[2,3,12,10]) -> (%y) {
    constant %u: f32[8,3,3,3] = random(1)
    constant %v: f32[8,8,3,3] = random(2)
    constant %w: f32[8,8,3,3] = random(3)
    constant %z: f32[6,8,1,1] = random(4)
    constant %b: f32[8] = random(5)
    %a = Conv(%x, %u, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
    %c = Relu(%a)
    %d = Conv(%c, %v, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
    %e = Relu(%d)
    %f = Conv(%e, %w, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
    %h = Add(%f, %c)
    %i = Relu(%h)
    %y = Conv(%i, %z) {kernel_shape = [1,1]}
  })";
  const std::vector<Shape> shapes = {{2, 3, 12, 10}};
  const auto data = noise(shapes);
  const auto inputs = views(data, shapes);
  for (const auto precision : {gcg::Precision::fp16, gcg::Precision::bf16})
    for (const bool fallbacks : {false, true}) {
      const auto artifact = compile_bound(kNetwork, {{"cudnn"}, fallbacks}, precision);
      gart_sim::sim_forget_counts();
      auto out = load_on(artifact, "cuda")->run(std::span<const TensorView>(inputs));
      ASSERT_TRUE(out) << out.error().message;
      expect_close(floats(out->at(0)), on_cpu(artifact, inputs), precision == gcg::Precision::bf16 ? 3e-2 : 3e-3);
      EXPECT_EQ(graphs_filled_and_captured(), 2u);  // the last convolution writes f32
    }
}

constexpr const char* kResidual = R"(graph g(%x: f32[1,6,9,11]) -> (%y) {
  constant %w: f32[6,6,3,3] = random(1)
  constant %v: f32[6,6,3,3] = random(3)
  constant %b: f32[6] = random(2)
  %c = Conv(%x, %w, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
  %d = Relu(%c)
  %e = Conv(%d, %v, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
  %f = Add(%e, %d)
  %y = Relu(%f)
})";
const std::vector<Shape> kShapes = {{1, 6, 9, 11}};

class Cudnn : public WithLibraries {
 protected:
  const std::vector<std::vector<float>> data = noise(kShapes);
  const std::vector<TensorView> inputs = views(data, kShapes);
};

TEST_F(Cudnn, ResidualsDoNotShareMemoryWithResults) {
  const auto artifact = compile_bound(kResidual, {{"cublasLt", "cudnn"}, false});
  auto out = load_on(artifact, "cuda")->run(std::span<const TensorView>(inputs));
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(artifact, inputs));
  EXPECT_GE(graphs_filled_and_captured(), 1u);
}

TEST_F(Cudnn, TooOldALibraryIsNamedOrLeftOut) {
  setenv("GART_SIM_CUDNN", "80907", 1);
  auto program = load_on(compile_bound(kResidual, {{"cudnn"}, false}), "cuda");
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("the model needs cudnn from 9.0.0 on and below 10.0.0 for step "),
            std::string::npos);
  EXPECT_NE(program.error().message.find("but: the installed version is 8.9.7"), std::string::npos)
      << program.error().message;
  const auto artifact = compile_bound(kResidual, {{"cudnn"}, true});
  auto out = load_on(artifact, "cuda")->run(std::span<const TensorView>(inputs));
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(artifact, inputs));
  EXPECT_EQ(sim_count("cudnnCreate"), 0u);
}

TEST_F(Cudnn, EveryCallFailsOnce) {
  const auto artifact = compile_bound(kResidual, {{"cudnn"}, false});
  const auto use_with = [&](const std::string& failure) { return error_with(failure, artifact, inputs); };
  ASSERT_EQ(use_with(""), "");
  std::vector<std::pair<std::string, uint64_t>> calls;
  for (const char* name :
       {"cudnnCreate", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
        "cudnnBackendGetAttribute", "cudnnBackendPopulateCudaGraph", "cuGraphCreate", "cuGraphAddNode_v2"}) {
    calls.emplace_back(name, sim_count(name));
    EXPECT_GT(calls.back().second, 0u) << name;
  }
  uint64_t refused = 0;
  for (const auto& [name, count] : calls) {
    for (uint64_t k = 1; k <= count; ++k) {
      const std::string failure = name + ":" + std::to_string(k) + (name.starts_with("cudnn") ? ":5000" : ":801");
      const std::string error = use_with(failure);
      EXPECT_EQ(gart_sim::sim_reports(), std::vector<std::string>{}) << failure;
      EXPECT_EQ(gart_sim::sim_alive(), "") << failure << ": " << error;
      refused += error.empty() ? 0 : 1;
      // If an engine fails, the next one is used; any other failure is an error that names the call.
      EXPECT_TRUE(!error.empty() || name == "cudnnBackendFinalize") << failure;
      if (!error.empty() && name.starts_with("cudnn") && name != "cudnnBackendFinalize") {
        EXPECT_NE(error.find(name + " of cuDNN 9.19.0 failed"), std::string::npos) << error;
      }
    }
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace gart::test
