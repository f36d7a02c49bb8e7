// Libraries that are too old, that refuse a call or that fail, and memory that moves.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "artifact_schema/reader.h"
#include "artifact_schema/writer.h"
#include "tests/cuda/libraries/bound_model.h"
#include "tests/cuda/runtime/allocation_count.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

using gart_sim::sim_count;

constexpr const char* kModel = R"(graph g(%x: f32[n,24]) -> (%y) {
  constant %w: f32[24,36] = random(1)
  constant %b: f32[36] = random(2)
  constant %v: f32[36,10] = random(4)
  %p = MatMul(%x, %w)
  %s = Add(%p, %b)
  %h = Relu(%s)
  %y = MatMul(%h, %v)
})";
const std::vector<Shape> kShapes = {{16, 24}};
constexpr size_t kIn = 16 * 24, kOut = 16 * 10;

class FallBack : public WithLibraries {
 protected:
  const std::vector<std::vector<float>> data = noise(kShapes);
  const std::vector<TensorView> inputs = views(data, kShapes);

  Result<std::vector<Tensor>> run(const Program& program) const {
    return program.run(std::span<const TensorView>(inputs));
  }
};

TEST_F(FallBack, TooOldALibraryIsLeftOutWhereThereAreFallbacks) {
  setenv("GART_SIM_CUBLASLT", "110803", 1);
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, true});
  auto out = run(*load_on(artifact, "cuda"));
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(artifact, inputs));
  EXPECT_EQ(sim_count("cublasLtMatmul") + sim_count("cublasLtCreate"), 0u);
  EXPECT_EQ(sim_count("graph_launches"), 1u);
}

TEST_F(FallBack, TooOldALibraryThatIsNeededIsNamed) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, false});
  const auto refusal = [&](const char* version) {
    setenv("GART_SIM_CUBLASLT", version, 1);
    auto program = load_on(artifact, "cuda");
    EXPECT_FALSE(program);
    return program ? std::string() : program.error().message;
  };
  const std::string needed = "the model needs cublasLt from 12.0.0 on and below 14.0.0 for step '";
  EXPECT_EQ(refusal("110803").substr(0, needed.size()), needed);
  EXPECT_NE(refusal("110803").find("but: the installed version is 11.8.3"), std::string::npos);
  EXPECT_NE(refusal("140000").find("but: the installed version is 14.0.0"), std::string::npos);
  EXPECT_TRUE(load_on(artifact, "cpu"));
}

TEST_F(FallBack, ALibraryThatDoesNotStartIsAsGoodAsNone) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, true});
  gart_sim::sim_forget_counts();
  gart_sim::sim_fail("cublasLtCreate:1:1");
  auto out = run(*load_on(artifact, "cuda"));
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(artifact, inputs));
  EXPECT_EQ(sim_count("cublasLtMatmul"), 0u);
}

TEST_F(FallBack, AShapeThatTheLibraryRefusesIsDoneByTheKernel) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, true});
  const Program program = *load_on(artifact, "cuda");
  gart_sim::sim_forget_counts();
  gart_sim::sim_fail("cublasLtMatmulAlgoGetHeuristic:1:15");
  auto out = run(program);
  ASSERT_TRUE(out) << out.error().message;
  expect_close(floats(out->at(0)), on_cpu(artifact, inputs));
  EXPECT_EQ(sim_count("cublasLtMatmul"), 1u);
}

TEST_F(FallBack, WithoutAKernelTheRefusalNamesLibraryStatusAndStep) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, false});
  const Program program = *load_on(artifact, "cuda");
  gart_sim::sim_forget_counts();
  gart_sim::sim_fail("cublasLtMatmulAlgoGetHeuristic:2:15");
  auto out = run(program);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message,
            "cublasLtMatmulAlgoGetHeuristic of cuBLASLt 13.1.0 failed in step 'y': CUBLAS_STATUS_NOT_SUPPORTED (15)");
  EXPECT_TRUE(run(program));
}

TEST_F(FallBack, AWarmRunAllocatesNothingAndAsksNobody) {
  const Program program = *load_on(compile_bound(kModel, {{"cublasLt"}, false}), "cuda");
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation->set_input(0, inputs[0]));
  ASSERT_TRUE(invocation->run());
  gart_sim::sim_forget_counts();
  const int64_t before = allocations();
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(sim_count("graph_launches"), 1u);
  for (const char* call : {"allocations", "host_allocations", "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic",
                           "cuStreamBeginCapture_v2", "graph_updates", "graph_instantiations"}) {
    EXPECT_EQ(sim_count(call), 0u) << call;
  }
}

TEST_F(FallBack, EqualProblemsAreChosenForOnce) {
  const Program program = *load_on(compile_bound(kModel, {{"cublasLt"}, false}), "cuda");
  gart_sim::sim_forget_counts();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(program));
  EXPECT_EQ(sim_count("cublasLtMatmulAlgoGetHeuristic"), 2u);
}

/// The simulated library splits a product differently if the address of its weights, or of its rows,
/// changes.
TEST_F(FallBack, TheCallersMemoryMayMove) {
  constexpr const char* kTwoInputs = R"(graph g(%x: f32[16,24], %w: f32[24,10]) -> (%y) {
    %y = MatMul(%x, %w)
  })";
  const std::vector<Shape> shapes = {{16, 24}, {24, 10}};
  const auto artifact = compile_bound(kTwoInputs, {{"cublasLt"}, false});
  const Program program = *load_on(artifact, "cuda");
  auto invocation = program.new_invocation();
  const DeviceArray x(4096), w(4096), y(4096);
  const size_t places[] = {0, 16, 64, 48, 0, 128, 144, 1024};  // in steps of 64 bytes
  uint32_t seed = 1;
  gart_sim::sim_forget_counts();
  for (const size_t at : places) {
    const auto values = noise(shapes, seed++);
    x.write(values[0], at), w.write(values[1], at);
    ASSERT_TRUE(invocation->set_input(0, {x.data(at), DType::f32, shapes[0], "cuda:0"}));
    ASSERT_TRUE(invocation->set_input(1, {w.data(at), DType::f32, shapes[1], "cuda:0"}));
    ASSERT_TRUE(invocation->set_output(0, {y.data(at), kOut * sizeof(float), DType::f32, "cuda:0"}));
    const Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    expect_close(y.read(kOut, at), on_cpu(artifact, views(values, shapes)));
  }
  EXPECT_EQ(sim_count("graph_launches"), std::size(places));
  EXPECT_GT(sim_count("graph_updates"), 0u);
  EXPECT_GT(sim_count("graph_instantiations"), 1u);
  EXPECT_LT(sim_count("graph_instantiations"), std::size(places));
}

TEST_F(FallBack, RunsFollowEachOtherWhileTheMemoryMoves) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, false});
  const Program program = *load_on(artifact, "cuda");
  auto invocation = program.new_invocation();
  const DeviceArray x(4096), y(4096);
  const size_t places[] = {0, 16 * 64, 2048};
  for (const size_t at : places) x.write(data[0], at);
  for (const size_t at : places) {
    ASSERT_TRUE(invocation->set_input(0, {x.data(at), DType::f32, kShapes[0], "cuda:0"}));
    ASSERT_TRUE(invocation->set_output(0, {y.data(at), kOut * sizeof(float), DType::f32, "cuda:0"}));
    const Result<void> run = invocation->run_async(nullptr);
    ASSERT_TRUE(run) << run.error().message;
  }
  ASSERT_TRUE(invocation->wait());
  for (const size_t at : places) expect_close(y.read(kOut, at), on_cpu(artifact, inputs));
}

/// Each caller has its own shapes, so that plans are made and recorded concurrently.
TEST_F(FallBack, ConcurrentInvocationsShareALibrary) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, false});
  const Program program = *load_on(artifact, "cuda");
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> callers;
  for (size_t caller = 0; caller < results.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int64_t rows = 1; rows < 6; ++rows) {
        const std::vector<Shape> shapes = {{16 * rows + int64_t(caller), 24}};
        const auto values = noise(shapes);
        auto out = program.run(std::span<const TensorView>(views(values, shapes)));
        if (out) results[caller] = floats(out->at(0));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (size_t caller = 0; caller < results.size(); ++caller) {
    const std::vector<Shape> shapes = {{80 + int64_t(caller), 24}};
    expect_close(results[caller], on_cpu(artifact, views(noise(shapes), shapes)));
  }
}

TEST_F(FallBack, EveryCallFailsOnce) {
  for (const bool fallbacks : {false, true}) {
    const auto artifact = compile_bound(kModel, {{"cublasLt"}, fallbacks});
    ASSERT_EQ(error_with("", artifact, inputs), "");
    std::vector<std::pair<std::string, uint64_t>> calls;
    for (const char* name :
         {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
          "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
          "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
          "cuGraphAddNode_v2", "cuGraphDestroy", "cuGraphInstantiateWithParams", "cuStreamCreateWithPriority"}) {
      calls.emplace_back(name, sim_count(name));
      EXPECT_GT(calls.back().second, 0u) << name;
    }
    for (const auto& [name, count] : calls) {
      const bool library = name.starts_with("cublasLt");
      for (uint64_t k = 1; k <= count; ++k) {
        const std::string failure = name + ":" + std::to_string(k) + (library ? ":13" : ":801");
        const std::string error = error_with(failure, artifact, inputs);
        EXPECT_EQ(gart_sim::sim_reports(), std::vector<std::string>{}) << failure;
        if (name == "cuGraphDestroy") {
          gart_sim::sim_revive();  // objects that could not be freed remain
          continue;
        }
        // Before the graph is built, kernels can still replace the calls.
        EXPECT_TRUE(!error.empty() || fallbacks) << failure;
        EXPECT_TRUE(error.empty() || !library || error.find(name + " of cuBLASLt 13.1.0 failed") != std::string::npos)
            << failure << ": " << error;
        EXPECT_EQ(gart_sim::sim_alive(), "") << failure << ": " << error;
      }
    }
  }
}

/// The artifact with another manifest.
template <class Change>
std::vector<uint8_t> changed(const std::vector<uint8_t>& artifact, const Change& change) {
  ArtifactView view;
  EXPECT_TRUE(read_artifact(artifact, view).ok());
  ArtifactContent content;
  view.manifest->UnPackTo(&content.manifest);
  const auto bytes = [&](int32_t section) {
    const auto span = view.section(static_cast<size_t>(section));
    return std::vector<uint8_t>(span.begin(), span.end());
  };
  for (auto& target : content.manifest.targets) {
    content.code.push_back(target->code_section < 0 ? std::vector<uint8_t>() : bytes(target->code_section));
    target->code_section = -1;
  }
  content.weights = bytes(content.manifest.weights_section);
  for (auto& plan : content.manifest.entry_points[0]->plans) {
    for (auto& step : plan->sequences.back()->steps) {
      if (step->kind == fb::StepKind::call) return change(*plan, *step), write_artifact(std::move(content));
    }
  }
  ADD_FAILURE() << "no call";
  return artifact;
}

TEST_F(FallBack, TensorsThatDoNotFitAreRefusedWhenShapesAreKnown) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, false});
  const auto refusal = [&](size_t param, int64_t value) {
    const auto bad = changed(artifact, [&](fb::PlanT& plan, fb::StepT& step) {
      plan.program.emplace_back(fb::ExprOp::constant, 0, 0, value);
      step.params[param] = static_cast<uint32_t>(plan.fixed.size() + plan.program.size() - 1);
    });
    auto program = load_on(bad, "cuda");
    EXPECT_TRUE(program) << program.error().message;
    auto out = run(*program);
    EXPECT_FALSE(out);
    return out ? std::string() : out.error().message;
  };
  // a's offset, extents [batch, m, k] and strides, then those of b.
  EXPECT_NE(refusal(0, 1).find("with operand 0, which does not lie within its 1536 bytes"), std::string::npos);
  EXPECT_NE(refusal(0, -1).find("with operand 0, which does not lie"), std::string::npos);
  EXPECT_NE(refusal(1, 2).find("whose batches do not fit together"), std::string::npos);
  EXPECT_NE(refusal(3, 23).find("whose rows and columns do not fit together"), std::string::npos);
  EXPECT_NE(refusal(5, int64_t{1} << 62).find("with operand 0, which does not lie"), std::string::npos);
  EXPECT_NE(refusal(5, 4).find("cuBLASLt takes no matrix of 16 x 24 elements with strides 4 and 1"), std::string::npos);
  EXPECT_NE(refusal(5, -24).find("with operand 0, which does not lie"), std::string::npos);
}

/// An axis with stride 0 stays inside its buffer for any extent, but sums of extents must not overflow.
TEST_F(FallBack, ExtentsWithoutEndAreRefused) {
  const auto artifact = compile_bound(R"(graph g(%x: f32[1,3,9,9]) -> (%y) {
  constant %w: f32[4,3,3,3] = random(1)
  %y = Conv(%x, %w) {kernel_shape = [3,3]}
})",
                                      {{"cudnn"}, false});
  const std::vector<Shape> shapes = {{1, 3, 9, 9}};
  const auto values = noise(shapes);
  // x's offset, extents [4] and strides [4], then those of w.
  for (const size_t extent : {2, 3, 11, 12}) {
    const auto bad = changed(artifact, [&](fb::PlanT& plan, fb::StepT& step) {
      const size_t slots = plan.fixed.size() + plan.program.size();
      plan.program.emplace_back(fb::ExprOp::constant, 0, 0, INT64_MAX);
      plan.program.emplace_back(fb::ExprOp::constant, 0, 0, 0);
      step.params[extent] = static_cast<uint32_t>(slots);
      step.params[extent + 4] = static_cast<uint32_t>(slots + 1);
      step.call->dilations = {1 << 20, 1 << 20};
    });
    const auto program = load_on(bad, "cuda");
    ASSERT_TRUE(program) << program.error().message;
    const auto out = program->run(std::span<const TensorView>(views(values, shapes)));
    ASSERT_FALSE(out);
    EXPECT_NE(out.error().message.find("which does not lie within its"), std::string::npos) << out.error().message;
  }
}

TEST_F(FallBack, AForgottenEdgeIsFound) {
  const auto artifact = compile_bound(kModel, {{"cublasLt"}, false});
  gart_sim::sim_forget_counts();
  ASSERT_TRUE(run(*load_on(artifact, "cuda")));
  const uint64_t edges = sim_count("graph_edges");
  ASSERT_GE(edges, 3u);  // the input's copy, product, product, the output's copy
  for (uint64_t k = 1; k <= edges; ++k) {
    gart_sim::sim_forget_counts();
    drop_edge(k);
    (void)run(*load_on(artifact, "cuda"));
    drop_edge(0);
    EXPECT_FALSE(gart_sim::sim_reports().empty()) << "edge " << k;
    gart_sim::sim_revive();
  }
}

}  // namespace
}  // namespace gart::test
