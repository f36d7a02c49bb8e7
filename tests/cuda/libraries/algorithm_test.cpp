// Library calls for which the file names the algorithm.
#include "compiler/kernel/decisions.h"
#include "compiler/kernel/library_algorithm.h"
#include "tests/cuda/libraries/bound_model.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

using gart_sim::sim_count;
using gcg::LibraryAlgorithm;

constexpr const char* kModel = R"(graph g(%x: f32[1,6,9,11], %m: f32[7,16]) -> (%y, %z) {
  constant %w: f32[6,6,3,3] = random(1)
  constant %b: f32[6] = random(2)
  constant %v: f32[16,20] = random(3)
  %c = Conv(%x, %w, %b) {kernel_shape = [3,3], pads = [1,1,1,1]}
  %y = Relu(%c)
  %z = MatMul(%m, %v)
})";
const std::vector<Shape> kShapes = {{1, 6, 9, 11}, {7, 16}};

// An engine of the simulated cuDNN, its two knobs, and values that its heuristic would not choose.
constexpr uint32_t kCudnn = 91900, kCublasLt = 130100;
constexpr int64_t kEngine = 12, kTileSize = 2, kStages = 14;
const LibraryAlgorithm kTransposed = {kCudnn, {kEngine, kTileSize, 3, kStages, 4}};
constexpr const char *kTurnedTile = "knob 2 at 3 of cuDNN", *kTurnedStages = "knob 14 at 4 of cuDNN";

/// Sets the same algorithm for all of a library's calls.
class Fixed final : public gcg::Decisions {
 public:
  explicit Fixed(LibraryAlgorithm of_cudnn, LibraryAlgorithm of_cublaslt = {})
      : cudnn_(std::move(of_cudnn)), cublaslt_(std::move(of_cublaslt)) {}
  std::optional<LibraryAlgorithm> algorithm(const gcg::Decision& decision) const override {
    const LibraryAlgorithm& known = decision.kernel.starts_with("cudnn") ? cudnn_ : cublaslt_;
    return known.config.empty() ? std::nullopt : std::optional(known);
  }

 private:
  const LibraryAlgorithm cudnn_, cublaslt_;
};

class Algorithms : public WithLibraries {
 protected:
  const std::vector<std::vector<float>> data = noise(kShapes);
  const std::vector<TensorView> inputs = views(data, kShapes);

  static std::vector<uint8_t> compile(const Fixed& decisions, bool fallbacks = false) {
    return compile_bound(kModel, {{"cublasLt", "cudnn"}, fallbacks, {"x86-64-v3", "sm_80"}, &decisions});
  }
  /// The result is right, whichever algorithm runs. Resets the counts.
  void run(const std::vector<uint8_t>& artifact) const {
    gart_sim::sim_forget_counts();
    const Program program = *load_on(artifact, "cuda");
    auto out = program.run(std::span<const TensorView>(inputs));
    ASSERT_TRUE(out) << out.error().message;
    auto want = load_on(artifact, "cpu")->run(std::span<const TensorView>(inputs));
    ASSERT_TRUE(want) << want.error().message;
    for (size_t i = 0; i < want->size(); ++i) expect_close(floats(out->at(i)), floats(want->at(i)));
  }
};

TEST_F(Algorithms, EngineAndKnobsOfCudnnAreTaken) {
  for (const bool fallbacks : {false, true}) {
    run(compile(Fixed(kTransposed), fallbacks));
    EXPECT_EQ(sim_count("engine 12 of cuDNN"), 1u);
    EXPECT_EQ(sim_count(kTurnedTile), 1u);
    EXPECT_EQ(sim_count(kTurnedStages), 1u);
  }
  run(compile(Fixed({kCudnn, {kEngine + 1}})));  // an engine without knobs
  EXPECT_EQ(sim_count("engine 13 of cuDNN"), 1u);
}

TEST_F(Algorithms, OfAnotherVersionTheHeuristicDecides) {
  run(compile(Fixed({kCudnn - 1, kTransposed.config}, {kCublasLt + 1, std::vector<int64_t>(8)})));
  EXPECT_EQ(sim_count(kTurnedTile), 0u);
  EXPECT_EQ(sim_count("cublasLtMatmulAlgoCheck"), 0u);
  EXPECT_EQ(sim_count("cublasLtMatmulAlgoGetHeuristic"), 1u);
}

TEST_F(Algorithms, OnAnotherGpuTheHeuristicDecides) {
  const auto artifact = compile(Fixed(kTransposed));
  gart_sim::sim_set_sm(86);  // a GPU that runs code for sm_80
  run(artifact);
  gart_sim::sim_set_sm(80);
  EXPECT_EQ(sim_count(kTurnedTile), 0u);
  EXPECT_EQ(sim_count("cublasLtMatmul"), 1u);
}

TEST_F(Algorithms, WhatTheLibraryRefusesIsItsOwnToChoose) {
  const std::vector<std::vector<int64_t>> nonsense = {{7},
                                                      {-1},
                                                      {kEngine, kTileSize, 99, kStages, 4},
                                                      {kEngine, kTileSize, 3, 77, 1},
                                                      {kEngine, kTileSize, 3, kTileSize, 3}};
  for (const auto& config : nonsense) {
    run(compile(Fixed({kCudnn, config}, {kCublasLt, {1, 2, 3, 4, 5, 6, 7, 8}})));
    EXPECT_EQ(sim_count("cudnnBackendPopulateCudaGraph") + sim_count("cudnnBackendExecute"), 1u);
    EXPECT_EQ(sim_count("cublasLtMatmulAlgoCheck"), 1u);
    EXPECT_EQ(sim_count("cublasLtMatmulAlgoGetHeuristic"), 1u);
  }
}

/// Engine 10 computes with less than f32's precision, so it is refused even if the file names it.
TEST_F(Algorithms, AnEngineOfLessPrecisionIsNotTaken) {
  run(compile(Fixed({kCudnn, {10}})));
  EXPECT_EQ(sim_count("engine 10 of cuDNN"), 0u);
}

TEST_F(Algorithms, EveryCallFailsOnce) {
  const auto artifact = compile(Fixed(kTransposed, {kCublasLt, {1, 2, 3, 4, 5, 6, 7, 8}}));
  ASSERT_EQ(error_with("", artifact, inputs), "");
  std::vector<std::pair<std::string, uint64_t>> calls;
  for (const char* name : {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
                           "cudnnBackendGetAttribute", "cublasLtMatmulAlgoCheck"}) {
    calls.emplace_back(name, sim_count(name));
    EXPECT_GT(calls.back().second, 0u) << name;
  }
  for (const auto& [name, count] : calls)
    for (uint64_t k = 1; k <= count; ++k) {
      const std::string failure = name + ":" + std::to_string(k) + ":5000";
      const std::string error = error_with(failure, artifact, inputs);
      EXPECT_EQ(gart_sim::sim_reports(), std::vector<std::string>{}) << failure;
      EXPECT_EQ(gart_sim::sim_alive(), "") << failure << ": " << error;
    }
}

TEST(LibraryAlgorithm, ItsWordsAreReadBack) {
  const LibraryAlgorithm algorithm = {kCublasLt, {0, 17, -1}};
  EXPECT_EQ(describe(algorithm), "130100: 0 11 ffffffffffffffff");
  const auto read = gcg::parse_algorithm(describe(algorithm));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, algorithm.version);
  EXPECT_EQ(read->config, algorithm.config);
  for (const char* other : {"", "130100", "130100:", "130100: x", "130100: 1 g", "64x64x32, 3 stages", "-: 1"})
    EXPECT_FALSE(gcg::parse_algorithm(other)) << other;
}

}  // namespace
}  // namespace gart::test
