// Plans that run steps on the CPU: results, launches, memory, errors; and runs that wait for each step.
#include "tests/cuda/runtime/allocation_count.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"

namespace gart {
namespace {

using test::floats;
using test::ramp;
using test::view;

class CudaHostSteps : public test::OnSim {
 protected:
  Program load(test::ArtifactBuilder builder, const LoadOptions& options = {.device = "cuda"}) {
    Result<Program> program = test::load_model(builder, options);
    EXPECT_TRUE(program) << program.error().message;
    return *program;
  }
};

std::vector<float> four_times_the_sum(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = 4 * (x[i] + y[i]);
  return out;
}

TEST_F(CudaHostSteps, BothDevicesInEveryOrder) {
  for (const int threads : {1, 3}) {
    const Program program = load(test::doubled_on_host(), {.device = "cuda", .threads = threads});
    EXPECT_EQ(program.device(), "cuda:0");
    EXPECT_EQ(program.threads(), threads);
    auto invocation = program.new_invocation();
    for (const char* order : {"first_in", "last_in", "delay:0", "delay:1", "delay:2", "random:5"}) {
      sim.set_order(order);
      for (const size_t n : {1, 100, 3000, 0, 17}) {
        const std::vector<float> x = ramp(n), y = ramp(n, 0.5f);
        ASSERT_TRUE(invocation->set_input(0, view(x)));
        ASSERT_TRUE(invocation->set_input(1, view(y)));
        const Result<void> run = invocation->run();
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_EQ(floats(invocation->output(0)), four_times_the_sum(x, y)) << order << ' ' << n;
      }
    }
  }
}

TEST_F(CudaHostSteps, AWarmRunIsALaunchOnEitherSideAndAllocatesNothing) {
  const Program program = load(test::doubled_on_host(), {.device = "cuda", .threads = 2});
  auto invocation = program.new_invocation();
  const std::vector<float> x = ramp(500), y = ramp(500, 3);
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->set_input(1, view(y)));
  ASSERT_TRUE(invocation->run());
  sim.forget_counts();
  const int64_t before = test::allocations();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(invocation->run());
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(sim.count("cuGraphLaunch"), 10u);
  EXPECT_EQ(sim.count("cuStreamSynchronize"), 10u);
  EXPECT_EQ(sim.count("kernels"), 10u);
  for (const char* none : {"allocations", "host_allocations", "graph_instantiations", "graph_updates"})
    EXPECT_EQ(sim.count(none), 0u) << none;
  EXPECT_EQ(floats(invocation->output(0)), four_times_the_sum(x, y));
}

/// The second run's host step writes what the first one's last graph reads, unless it waits.
TEST_F(CudaHostSteps, RunsFollowEachOtherOnStreams) {
  const Program program = load(test::doubled_on_host());
  auto invocation = program.new_invocation();
  for (const char* order : {"first_in", "last_in", "delay:1", "delay:2", "random:3"}) {
    sim.set_order(order);
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> x = ramp(100, float(i)), y = ramp(100, 7);
      ASSERT_TRUE(invocation->set_input(0, view(x)));
      ASSERT_TRUE(invocation->set_input(1, view(y)));
      const Result<void> run = invocation->run_async(nullptr);
      ASSERT_TRUE(run) << run.error().message;
      if (i != 1) continue;
      ASSERT_TRUE(invocation->wait());
      EXPECT_EQ(floats(invocation->output(0)), four_times_the_sum(x, y)) << order;
    }
    ASSERT_TRUE(invocation->wait());
  }
}

TEST_F(CudaHostSteps, TheHostsErrorsNameTheStep) {
  const Program program = load(test::gathering_on_host());
  const std::vector<float> values = ramp(10);
  std::vector<int64_t> indices(200, 9);
  const std::vector<TensorView> inputs = {view(values), {indices.data(), DType::i64, Shape{200}}};
  auto out = program.run(inputs);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), std::vector<float>(200, 36.0f));
  indices[150] = 10;
  out = program.run(inputs);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "step 'Gather_2' failed: an index is out of range");
  indices[150] = 0;  // and the program still works
  EXPECT_TRUE(program.run(inputs));
}

TEST_F(CudaHostSteps, ExtentsThatDependOnData) {
  const Program program = load(test::positives_on_host());
  auto invocation = program.new_invocation();
  for (const int positive : {3, 0, 70, 5, 100, 5}) {
    std::vector<float> x(100, -1.0f), expected;
    for (int i = 0; i < positive; ++i) x[i] = float(i + 1), expected.push_back(x[i]);
    ASSERT_TRUE(invocation->set_input(0, view(x)));
    const Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(floats(invocation->output(0)), expected);
  }
}

TEST_F(CudaHostSteps, ACopyThatIsMissingIsFound) {
  test::ArtifactBuilder model = test::doubled_on_host();
  auto& steps = model.plan().sequences[0]->steps;
  steps.erase(steps.begin() + 3);
  steps.back()->waits.clear();
  const std::vector<float> x = ramp(100);
  {
    const Program program = load(std::move(model));
    auto out = program.run(std::vector<TensorView>{view(x), view(x)});
    EXPECT_TRUE(!out || floats(out->at(0)) != four_times_the_sum(x, x));
  }
  sim.reports();
  sim.revive();
}

TEST_F(CudaHostSteps, ACpuThatCannotRunThemIsTold) {
  test::ArtifactBuilder model = test::doubled_on_host();
  model.content.manifest.targets[1]->features = kKnownCpuFeatures;
  model.content.manifest.targets[1]->name = "every-feature";
  Result<Program> program = test::load_model(model, {.device = "cuda"});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::unsupported);
  EXPECT_EQ(
      program.error().message.find("the model's plans for sm_80 run steps on the CPU, and have code for every-feature; "
                                   "this CPU offers "),
      0u)
      << program.error().message;
}

TEST_F(CudaHostSteps, BlockingRunsWaitForEachStep) {
  const Program program = load(test::two_streams(), {.device = "cuda", .blocking = true});
  auto invocation = program.new_invocation();
  const std::vector<float> x = ramp(100), y = ramp(100, 3);
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->set_input(1, view(y)));
  ASSERT_TRUE(invocation->run());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(floats(invocation->output(0))[i], 4 * x[i]);
  sim.forget_counts();
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(sim.count("cuGraphLaunch"), 5u);
  EXPECT_EQ(sim.count("graph_instantiations"), 0u);
}

TEST_F(CudaHostSteps, BlockingRunsNameTheStepThatFaults) {
  for (int k = 1; k <= 2; ++k) {
    {
      const Program program = load(test::doubled_on_host(), {.device = "cuda", .blocking = true});
      const std::vector<float> x = ramp(100);
      const std::vector<TensorView> inputs = {view(x), view(x)};
      ASSERT_TRUE(program.run(inputs));
      sim.forget_counts();
      sim.fail(k == 1 ? "kernels:1:700" : "kernels:2:700");
      auto out = program.run(inputs);
      sim.fail("");
      ASSERT_FALSE(out);
      EXPECT_EQ(out.error().code, ErrorCode::device_lost);
      EXPECT_EQ(out.error().message, std::string("the device is lost: cuStreamSynchronize failed on cuda:0 in step '") +
                                         (k == 1 ? "Add_1" : "Double_3") +
                                         "': an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)");
    }
    sim.reports();
    sim.revive();
  }
}

/// Branches and loops, too, although conditional nodes would hide what happens in them.
TEST_F(CudaHostSteps, BlockingRunsLetTheHostDecide) {
  const Program program = load(test::steered(test::doubling_loop()), {.device = "cuda", .blocking = true});
  std::vector<float> x = ramp(50, 3), expected = x;
  for (float& value : expected) value *= 4;
  auto out = program.run(std::vector<TensorView>{view(x)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), expected);
}

}  // namespace
}  // namespace gart
