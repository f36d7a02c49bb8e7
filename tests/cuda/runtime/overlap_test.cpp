// Launches that overlap, on the simulated sm_90: results, edges, updates of graphs, and artifacts with wrong
// descriptions of their kernels.
#include <set>

#include "tests/cuda/runtime/allocation_count.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"

namespace gart {
namespace {

using test::floats;
using test::ramp;
using test::view;

class CudaOverlap : public test::OnSim {
 protected:
  void SetUp() override {
    OnSim::SetUp();
    sim.set_sm(90);
  }
  Program load(test::ArtifactBuilder builder) {
    Result<Program> program = test::load_model(builder, {.device = "cuda"});
    EXPECT_TRUE(program) << program.error().message;
    return *program;
  }
  uint64_t count(const char* name) { return sim.count(name); }
};

std::vector<float> times(std::vector<float> x, float factor) {
  for (float& value : x) value *= factor;
  return x;
}

TEST_F(CudaOverlap, RightInEveryOrder) {
  const Program program = load(test::overlapping());
  for (const char* order : {"first_in", "last_in", "delay:0", "delay:1", "delay:2", "random:5"}) {
    sim.set_order(order);
    const std::vector<float> x = ramp(100);
    auto out = program.run(std::vector<TensorView>{view(x)});
    ASSERT_TRUE(out) << order << ": " << out.error().message;
    EXPECT_EQ(floats(out->at(0)), times(x, 8)) << order;
  }
}

TEST_F(CudaOverlap, AWarmRunIsOneLaunchAndAllocatesNothing) {
  const Program program = load(test::overlapping());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  const std::vector<float> x = ramp(500);
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(count("programmatic_edges"), 2u);
  sim.forget_counts();
  const int64_t before = test::allocations();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(invocation->run());
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(count("cuGraphLaunch"), 5u);
  EXPECT_EQ(count("graph_instantiations") + count("graph_updates") + count("allocations"), 0u);
  EXPECT_EQ(floats(invocation->output(0)), times(x, 8));
}

TEST_F(CudaOverlap, AnEdgeThatTheDriverRefusesIsAFullOne) {
  const std::vector<float> x = ramp(100);
  std::set<uint64_t> edges;
  for (int call = 1; call <= 6; ++call) {
    sim.fail(("cuGraphAddNode_v2:" + std::to_string(call) + ":801").c_str());
    sim.forget_counts();
    const Program program = load(test::overlapping());
    auto out = program.run(std::vector<TensorView>{view(x)});
    sim.fail("");
    if (!out) continue;  // the node had full edges
    edges.insert(count("programmatic_edges"));
    EXPECT_EQ(floats(out->at(0)), times(x, 8));
  }
  EXPECT_EQ(edges, (std::set<uint64_t>{1, 2}));  // one of two was refused, so none was made
}

TEST_F(CudaOverlap, ShapesComeAndGoInPlace) {
  const Program program = load(test::overlapping());
  auto invocation = program.new_invocation();
  for (size_t n = 1; n < 60; n += 2) {  // more shapes than the invocation remembers
    const std::vector<float> x = ramp(n * 50);
    ASSERT_TRUE(invocation->set_input(0, view(x)));
    ASSERT_TRUE(invocation->run());
    EXPECT_EQ(floats(invocation->output(0)), times(x, 8));
  }
  EXPECT_EQ(count("graph_instantiations"), 8u);  // the other graphs were updated in place
  EXPECT_EQ(count("programmatic_edges"), 16u);
  EXPECT_GT(count("graph_updates"), 0u);
}

TEST_F(CudaOverlap, WithoutWorkThereIsNothingToOverlap) {
  const Program program = load(test::overlapping());
  auto out = program.run(std::vector<TensorView>{view(std::vector<float>())});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(count("programmatic_edges"), 0u);
}

/// A step after the copy of an input has an edge from the copy, and only full edges.
TEST_F(CudaOverlap, NotAfterCopies) {
  test::ArtifactBuilder builder = test::overlapping();
  fb::PlanT& plan = builder.plan();
  plan.kernels[0]->ahead.clear();
  plan.sequences[0]->steps[1]->operands[0] = 0;  // x again
  const Program program = load(std::move(builder));
  const std::vector<float> x = ramp(100);
  auto out = program.run(std::vector<TensorView>{view(x)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), times(x, 4));
  EXPECT_EQ(count("programmatic_edges"), 1u);
}

TEST_F(CudaOverlap, OlderDevicesStartALaunchWhenTheLastOneHasEnded) {
  sim.set_sm(80);
  const Program program = load(test::on_ptx(test::overlapping()));
  const std::vector<float> x = ramp(100);
  auto out = program.run(std::vector<TensorView>{view(x)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), times(x, 8));
  EXPECT_EQ(count("programmatic_edges"), 0u);
}

/// The simulation refuses programmatic edges there; the host would then control the loop.
TEST_F(CudaOverlap, WithinLoopsOnTheDeviceEdgesAreFull) {
  test::ArtifactBuilder builder = test::on_sm_90(test::with_conditional_kernel(test::doubling_loop()));
  for (const auto& kernel : builder.plan().kernels) kernel->waits = true;
  builder.plan().sequences[0]->steps[1]->overlaps = true;
  const Program program = load(std::move(builder));
  const std::vector<float> x = ramp(50, 3);
  auto out = program.run(std::vector<TensorView>{view(x)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), times(x, 4));
  EXPECT_EQ(count("cuGraphLaunch"), 1u);
  EXPECT_EQ(count("programmatic_edges"), 0u);
}

/// Artifacts with wrong descriptions of their kernels.
class CudaOverlapBug : public CudaOverlap, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Planted, CudaOverlapBug, testing::Values("test_hasty", "test_heedless"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(CudaOverlapBug, IsFoundInEveryOrder) {
  for (const char* order : {"first_in", "last_in", "delay:1", "random:5"}) {
    sim.set_order(order);
    {
      const Program program = load(test::overlapping(GetParam()));
      const std::vector<float> x = ramp(100);
      EXPECT_FALSE(program.run(std::vector<TensorView>{view(x)}).ok()) << order;
    }
    const std::vector<std::string> reports = sim.reports();
    ASSERT_FALSE(reports.empty()) << order;
    EXPECT_TRUE(reports[0].starts_with("graph_race:")) << reports[0];
    EXPECT_NE(reports[0].find("before it waits for what it overlaps"), std::string::npos) << reports[0];
    sim.revive();
  }
}

}  // namespace
}  // namespace gart
