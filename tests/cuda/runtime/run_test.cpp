// Running CUDA plans: results, launches, the caller's memory on host and device, shapes, control flow, errors of the
// model.
#include <cstring>
#include <thread>
#include <tuple>

#include "tests/cuda/runtime/allocation_count.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/device_array.h"
#include "tests/cuda/runtime/sim.h"

namespace gart {
namespace {

using test::DeviceArray;
using test::floats;
using test::ramp;
using test::view;

class CudaRun : public test::OnSim {
 protected:
  Program load(test::ArtifactBuilder builder) {
    Result<Program> program = test::load_model(builder, {.device = "cuda"});
    EXPECT_TRUE(program) << program.error().message;
    return *program;
  }
  uint64_t count(const char* name) { return sim.count(name); }
};

std::vector<float> twice_the_sum(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = 2 * (x[i] + y[i]);
  return out;
}

TEST_F(CudaRun, KernelsInOrderOverManySizes) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  EXPECT_EQ(program.device(), "cuda:0");
  EXPECT_EQ(program.target(), "sm_80");
  for (const size_t n : {1, 15, 16, 17, 100, 1000, 0, 17}) {
    const std::vector<float> x = ramp(n), y = ramp(n, 0.5f);
    auto out = program.run(std::vector<TensorView>{view(x), view(y)});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(out->at(0).shape(), Shape{int64_t(n)});
    EXPECT_EQ(floats(out->at(0)), twice_the_sum(x, y)) << n;
  }
}

TEST_F(CudaRun, AWarmRunIsOneLaunchAndAllocatesNothing) {
  const Program program = load(test::two_streams());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  const std::vector<float> x = ramp(500), y = ramp(500, 3);
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->set_input(1, view(y)));
  ASSERT_TRUE(invocation->run());
  sim.forget_counts();
  const int64_t before = test::allocations();
  ASSERT_GT(before, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(invocation->run());
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(count("cuGraphLaunch"), 5u);
  EXPECT_EQ(count("cuStreamSynchronize"), 5u);
  EXPECT_EQ(count("kernels"), 25u);
  for (const char* none : {"allocations", "host_allocations", "graph_instantiations", "graph_updates",
                           "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel"})
    EXPECT_EQ(count(none), 0u) << none;
  std::vector<float> expected(500);
  for (size_t i = 0; i < 500; ++i) expected[i] = 2 * (x[i] + y[i]) + 2 * (x[i] - y[i]);
  EXPECT_EQ(floats(invocation->output(0)), expected);
}

TEST_F(CudaRun, StaticPlansAreBuiltBeforeTheFirstRun) {
  const Program program = load(test::on_cuda(test::with_static_plan(100)));
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  EXPECT_EQ(count("graph_instantiations"), 1u);
  sim.forget_counts();
  const std::vector<float> x = ramp(100);
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(invocation->set_input(i, view(x)));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(floats(invocation->output(0)), twice_the_sum(x, x));
  for (const char* none : {"graph_instantiations", "graph_updates", "allocations", "host_allocations"})
    EXPECT_EQ(count(none), 0u) << none;
}

TEST_F(CudaRun, StreamsInEveryOrder) {
  const Program program = load(test::two_streams());
  for (const char* order : {"first_in", "last_in", "delay:0", "delay:1", "delay:2", "delay:3", "delay:4", "random:5"}) {
    sim.set_order(order);
    const std::vector<float> x = ramp(100), y = ramp(100, 3);
    auto out = program.run(std::vector<TensorView>{view(x), view(y)});
    ASSERT_TRUE(out) << order << ": " << out.error().message;
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(floats(out->at(0))[i], 4 * x[i]) << order;
  }
}

TEST_F(CudaRun, AMissingWaitIsFound) {
  test::ArtifactBuilder builder = test::two_streams();
  builder.plan().sequences[0]->steps[4]->waits.clear();
  {
    const Program program = load(std::move(builder));
    bool found = false;
    for (const char* order : {"last_in", "delay:3", "delay:4", "first_in"}) {
      sim.set_order(order);
      const std::vector<float> x = ramp(100);
      found |= !program.run(std::vector<TensorView>{view(x), view(x)}).ok();
    }
    EXPECT_TRUE(found);
  }
  EXPECT_FALSE(sim.reports().empty());
  sim.revive();
}

TEST_F(CudaRun, DeviceMemoryIsUsedInPlace) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  DeviceArray x(sim, 100), y(sim, 100), z(sim, 100), out(sim, 100), other(sim, 100);
  x.write(ramp(100)), y.write(ramp(100, 5)), z.write(ramp(100, 9));
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation->set_input(0, x.view()));
  ASSERT_TRUE(invocation->set_input(1, y.view()));
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 400, DType::f32, "cuda:0"}));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(out.read(), twice_the_sum(ramp(100), ramp(100, 5)));
  EXPECT_EQ(invocation->output(0).data, out.data());
  EXPECT_STREQ(invocation->output(0).device, "cuda:0");
  EXPECT_EQ(count("graph_nodes"), 2u);  // no copy
  sim.forget_counts();
  const int64_t before = test::allocations();
  ASSERT_TRUE(invocation->set_input(1, z.view()));
  ASSERT_TRUE(invocation->set_output(0, {other.data(), 400, DType::f32, "cuda:0"}));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(count("graph_instantiations"), 0u);
  EXPECT_EQ(count("graph_updates"), 2u);
  EXPECT_EQ(other.read(), twice_the_sum(ramp(100), ramp(100, 9)));
  EXPECT_EQ(out.read(), twice_the_sum(ramp(100), ramp(100, 5)));
}

TEST_F(CudaRun, UnalignedDeviceMemoryIsCopiedOnTheDevice) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  DeviceArray x(sim, 100), out(sim, 100);
  x.write(ramp(100), 1);
  auto invocation = program.new_invocation();
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(invocation->set_input(i, x.view(1)));
  ASSERT_TRUE(invocation->set_output(0, {out.data() + 3, 400, DType::f32, "cuda:0"}));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(out.read(3), twice_the_sum(ramp(100), ramp(100)));
}

TEST_F(CudaRun, OutputsStayOnTheDeviceOnRequest) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  auto invocation = program.new_invocation();
  const std::vector<float> x = ramp(100);
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(invocation->set_input(i, view(x)));
  ASSERT_TRUE(invocation->set_output(0, {.device = "cuda:0"}));
  ASSERT_TRUE(invocation->run());
  const TensorView result = invocation->output(0);
  EXPECT_STREQ(result.device, "cuda:0");
  auto next = program.new_invocation();  // the output can be the input of another run
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(next->set_input(i, result));
  ASSERT_TRUE(next->run());
  EXPECT_STREQ(next->output(0).device, "cpu");
  std::vector<float> expected = ramp(100);
  for (float& value : expected) value *= 16;
  EXPECT_EQ(floats(next->output(0)), expected);
  ASSERT_TRUE(invocation->set_output(0, {}));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(floats(invocation->output(0)), twice_the_sum(x, x));
}

TEST_F(CudaRun, AsyncRunsFollowEachOther) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  DeviceArray x(sim, 100), y(sim, 100), a(sim, 100), b(sim, 100);
  x.write(ramp(100)), y.write(ramp(100, 5));
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation->set_input(0, x.view()));
  ASSERT_TRUE(invocation->set_input(1, y.view()));
  for (int round = 0; round < 3; ++round) {
    for (const DeviceArray* out : {&a, &b, &a}) {
      ASSERT_TRUE(invocation->set_output(0, {out->data(), 400, DType::f32, "cuda:0"}));
      ASSERT_TRUE(invocation->run_async(nullptr));
    }
    if (round == 0) sim.forget_counts();
  }
  EXPECT_EQ(count("syncs"), 0u);  // nobody waited
  ASSERT_TRUE(invocation->wait());
  EXPECT_EQ(count("cuGraphLaunch"), 6u);
  EXPECT_EQ(a.read(), twice_the_sum(ramp(100), ramp(100, 5)));
  EXPECT_EQ(b.read(), a.read());
}

TEST_F(CudaRun, AsyncRunsWithHostMemoryAreDeliveredByWait) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  auto invocation = program.new_invocation();
  std::vector<float> x = ramp(100), out(100);
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 400, DType::f32}));
  for (int round = 1; round < 4; ++round) {
    x = ramp(100, float(round));
    for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(invocation->set_input(i, view(x)));
    ASSERT_TRUE(invocation->run_async(nullptr));
    std::fill(x.begin(), x.end(), -1.0f);  // taken already
    ASSERT_TRUE(invocation->wait());
    EXPECT_EQ(out, twice_the_sum(ramp(100, float(round)), ramp(100, float(round))));
  }
}

TEST_F(CudaRun, AsyncIsRefusedOnTheCpu) {
  test::ArtifactBuilder builder = test::add_and_double();
  Result<Program> program = test::load_model(builder);
  auto invocation = program->new_invocation();
  Result<void> run = invocation->run_async(nullptr);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "run_async needs a program on a CUDA device, this one runs on 'cpu'");
}

TEST_F(CudaRun, ShapesComeAndGoInPlace) {
  const Program program = load(test::on_cuda(test::add_and_double()));
  auto invocation = program.new_invocation();
  for (int round = 0; round < 3; ++round) {
    for (size_t n = 1; n < 30; n += 2) {  // more shapes than the invocation remembers
      const std::vector<float> x = ramp(n * 50), y = ramp(n * 50, 1);
      ASSERT_TRUE(invocation->set_input(0, view(x)));
      ASSERT_TRUE(invocation->set_input(1, view(y)));
      ASSERT_TRUE(invocation->run());
      EXPECT_EQ(floats(invocation->output("out")), twice_the_sum(x, y));
    }
  }
  EXPECT_EQ(count("graph_instantiations"), 8u);  // the other graphs were updated in place
}

/// Control flow that the host decides between graphs, or the device within one graph.
class CudaControl : public CudaRun, public testing::WithParamInterface<bool> {
 protected:
  Program load_model(test::ArtifactBuilder model) {
    return load(GetParam() ? test::with_conditional_kernel(std::move(model)) : test::on_cuda(std::move(model)));
  }
};
INSTANTIATE_TEST_SUITE_P(By, CudaControl, testing::Values(false, true),
                         [](const auto& by_device) { return by_device.param ? "Device" : "Host"; });

TEST_P(CudaControl, LoopUntilConditionOrTripCount) {
  const Program program = load_model(test::doubling_loop());
  for (const auto& [start, factor] : {std::pair{1.0f, 16.0f}, {3.0f, 4.0f}, {12.0f, 1.0f}, {0.0f, 256.0f}}) {
    std::vector<float> x = ramp(50, start), expected = x;
    for (float& value : expected) value *= factor;
    auto out = program.run(std::vector<TensorView>{view(x)});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats(out->at(0)), expected) << start;
  }
}

TEST_P(CudaControl, BranchLoopAndViewOfTheSmallArtifact) {
  const Program program = load_model(test::small_artifact());
  const std::vector<float> x = ramp(80), y = ramp(80, 100);
  for (const uint8_t flag : {uint8_t{1}, uint8_t{0}}) {
    auto out = program.run(std::vector<TensorView>{
        {x.data(), DType::f32, Shape{5, 16}}, {y.data(), DType::f32, Shape{5, 16}}, {&flag, DType::boolean, Shape{}}});
    ASSERT_TRUE(out) << out.error().message;
    std::vector<float> expected = flag != 0 ? x : y;
    for (size_t i = 0; i < 16; ++i) std::memset(&expected[i], 0x3f, 4);
    EXPECT_EQ(floats(out->at(0)), expected);
  }
}

TEST_P(CudaControl, ABranchThatEndsTheRun) {
  test::ArtifactBuilder model = test::small_artifact();
  auto& otherwise = model.plan().sequences[1]->steps;
  otherwise[0] = std::make_unique<fb::StepT>();
  otherwise[0]->kind = fb::StepKind::fail;
  otherwise[0]->source = "If_2";
  otherwise[0]->message = "there is nothing else";
  // A model without the loop; the branch's result replaces the loop's result.
  auto& sequences = model.plan().sequences;
  auto& steps = sequences[3]->steps;
  steps.erase(steps.begin() + 2);
  steps[2]->operands[1] = sequences[0]->steps[0]->operands[0];
  steps[2]->waits = {0, 1};
  sequences.erase(sequences.begin() + 2);
  const Program program = load_model(std::move(model));
  const std::vector<float> x = ramp(80);
  sim.forget_counts();
  for (const uint8_t flag : {uint8_t{1}, uint8_t{0}, uint8_t{1}}) {
    auto out = program.run(std::vector<TensorView>{
        {x.data(), DType::f32, Shape{5, 16}}, {x.data(), DType::f32, Shape{5, 16}}, {&flag, DType::boolean, Shape{}}});
    ASSERT_EQ(out.ok(), flag == 1);
    if (!out) {
      EXPECT_EQ(out.error().message, "step 'If_2' failed: there is nothing else");
    }
  }
  if (GetParam()) {
    EXPECT_EQ(count("cuGraphLaunch"), 3u);
  }
}

TEST_P(CudaControl, ABranchWithNothingInIt) {
  sim.set_driver_version(12060);  // the driver hangs if a body is empty
  test::ArtifactBuilder model = test::small_artifact();
  model.plan().sequences[1]->steps.clear();
  const Program program = load_model(std::move(model));
  const std::vector<float> x = ramp(80);
  for (const uint8_t flag : {uint8_t{1}, uint8_t{0}, uint8_t{1}}) {
    auto out = program.run(std::vector<TensorView>{
        {x.data(), DType::f32, Shape{5, 16}}, {x.data(), DType::f32, Shape{5, 16}}, {&flag, DType::boolean, Shape{}}});
    ASSERT_TRUE(out) << out.error().message;
  }
}

TEST_P(CudaControl, ShapesComeAndGo) {
  const Program program = load_model(test::doubling_loop());
  auto invocation = program.new_invocation();
  for (int round = 0; round < 2; ++round) {
    for (size_t n = 1; n < 30; n += 2) {
      std::vector<float> x = ramp(n * 50, 3);
      ASSERT_TRUE(invocation->set_input(0, view(x)));
      Result<void> run = invocation->run();
      ASSERT_TRUE(run) << run.error().message;
      for (float& value : x) value *= 4;
      EXPECT_EQ(floats(invocation->output(0)), x);
    }
  }
}

TEST_P(CudaControl, DeviceMemoryMoves) {
  const Program program = load_model(test::doubling_loop());
  DeviceArray x(sim, 100), y(sim, 100), a(sim, 100), b(sim, 100);
  x.write(ramp(100, 3)), y.write(ramp(100, 6));
  auto invocation = program.new_invocation();
  for (int round = 0; round < 3; ++round) {
    if (round == 1) sim.forget_counts();
    for (const auto& [in, out, factor] : {std::tuple{&x, &a, 4.0f}, {&y, &b, 2.0f}}) {
      ASSERT_TRUE(invocation->set_input(0, in->view()));
      ASSERT_TRUE(invocation->set_output(0, {out->data(), 400, DType::f32, "cuda:0"}));
      ASSERT_TRUE(invocation->run());
      std::vector<float> expected = in->read();
      for (float& value : expected) value *= factor;
      EXPECT_EQ(out->read(), expected);
    }
  }
  EXPECT_EQ(count("graph_instantiations"), 0u);
}

/// A driver may refuse updates of fills and copies with another size or kind of memory.
TEST_P(CudaControl, AnUpdateThatTheDriverRefusesBuildsTheGraphAnew) {
  const Program program = load_model(test::doubling_loop());
  DeviceArray x(sim, 100), y(sim, 100);
  x.write(ramp(100, 3)), y.write(ramp(100, 6));
  auto invocation = program.new_invocation();
  for (const auto& [in, factor] : {std::pair{&x, 4.0f}, {&y, 2.0f}, {&x, 4.0f}}) {
    ASSERT_TRUE(invocation->set_input(0, in->view()));
    Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    std::vector<float> expected = in->read();
    for (float& value : expected) value *= factor;
    EXPECT_EQ(floats(invocation->output(0)), expected);
    EXPECT_EQ(count("graph_instantiations") > 0, in == &x);
    sim.forget_counts();
    sim.fail(in == &y ? "cuGraphExecNodeSetParams:1:1" : "");  // the next run's first
  }
}

TEST_F(CudaRun, ALoopOnTheDeviceIsOneLaunch) {
  const Program program = load(test::with_conditional_kernel(test::doubling_loop()));
  auto invocation = program.new_invocation();
  const std::vector<float> x = ramp(50, 1);
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->run());
  sim.forget_counts();
  const int64_t before = test::allocations();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(invocation->run());
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(count("cuGraphLaunch"), 3u);
  EXPECT_EQ(count("cuStreamSynchronize"), 3u);
  EXPECT_EQ(count("graph_instantiations") + count("graph_updates") + count("allocations"), 0u);
}

TEST_F(CudaRun, ADriverThatRefusesConditionalsLetsTheHostDecide) {
  const Program program = load(test::with_conditional_kernel(test::doubling_loop()));
  sim.forget_counts();
  sim.fail("cuGraphConditionalHandleCreate:1:801");
  std::vector<float> x = ramp(50, 3), expected = x;
  for (float& value : expected) value *= 4;
  auto out = program.run(std::vector<TensorView>{view(x)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), expected);
  EXPECT_GT(count("cuGraphLaunch"), 1u);
}

TEST_F(CudaRun, DataDependentExtents) {
  const Program program = load(test::on_cuda(test::positives()));
  auto invocation = program.new_invocation();
  for (const int positive : {3, 0, 70, 5, 100, 5}) {
    std::vector<float> x(100, -1.0f), expected;
    for (int i = 0; i < positive; ++i) x[i] = float(i + 1), expected.push_back(x[i]);
    ASSERT_TRUE(invocation->set_input(0, view(x)));
    Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(invocation->output(0).shape, Shape{positive});
    EXPECT_EQ(floats(invocation->output(0)), expected);
    auto owned = program.run(std::vector<TensorView>{view(x)});
    ASSERT_TRUE(owned) << owned.error().message;
    EXPECT_EQ(floats(owned->at(0)), expected);
  }
}

TEST_F(CudaRun, KernelErrorsNameTheStep) {
  const Program program = load(test::gathering());
  const std::vector<float> values = ramp(10);
  std::vector<int64_t> indices(200, 9);
  const std::vector<TensorView> inputs = {view(values), {indices.data(), DType::i64, Shape{200}}};
  EXPECT_EQ(floats(program.run(inputs)->at(0)), std::vector<float>(200, 18.0f));
  indices[150] = 10;
  auto out = program.run(inputs);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::run_failed);
  EXPECT_EQ(out.error().message, "step 'Gather_3' failed: an index is out of range");
  indices[150] = 0;  // the program still works
  EXPECT_TRUE(program.run(inputs));
}

TEST_F(CudaRun, ConcurrentInvocationsShareOneProgram) {
  const Program program = load(test::two_streams());
  std::vector<std::thread> callers;
  std::vector<int> good(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      auto invocation = program.new_invocation();
      for (int i = 0; i < 10; ++i) {
        const std::vector<float> x = ramp(size_t(200 + 100 * caller), float(i)), y = ramp(x.size(), float(caller));
        if (!invocation->set_input(0, view(x)) || !invocation->set_input(1, view(y)) || !invocation->run()) return;
        for (size_t k = 0; k < x.size(); ++k) {
          if (floats(invocation->output(0))[k] != 2 * (x[k] + y[k]) + 2 * (x[k] - y[k])) return;
        }
      }
      good[caller] = 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, std::vector<int>(4, 1));
}

}  // namespace
}  // namespace gart
