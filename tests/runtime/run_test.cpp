// Running programs: results, plans, shapes, control flow, data-dependent extents.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "tests/runtime/models.h"

namespace gart {
namespace {

using test::floats;
using test::ramp;
using test::view;

class Run : public testing::TestWithParam<int> {  // threads
 protected:
  Program load(test::ArtifactBuilder builder) {
    Result<Program> program = test::load_model(builder, {.threads = GetParam()});
    EXPECT_TRUE(program) << program.error().message;
    return *program;
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, Run, testing::Values(1, 2, 5));

std::vector<float> twice_the_sum(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = 2 * (x[i] + y[i]);
  return out;
}

TEST_P(Run, KernelsInOrderOverManySizes) {
  const Program program = load(test::add_and_double());
  for (const size_t n : {1, 15, 16, 17, 100, 1000, 4096, 0, 17}) {
    const std::vector<float> x = ramp(n), y = ramp(n, 0.5f);
    auto out = program.run(std::vector<TensorView>{view(x), view(y)});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(out->at(0).shape(), Shape{int64_t(n)});
    EXPECT_EQ(out->at(0).name(), "out");
    EXPECT_EQ(floats(out->at(0)), twice_the_sum(x, y)) << n;
  }
}

TEST_P(Run, StepsAreNotedWhereThatIsWanted) {
  const Program program = load(test::add_and_double());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  const std::vector<float> x = ramp(4096), y = ramp(4096, 2);
  ASSERT_TRUE(invocation->set_input(0, view(x)) && invocation->set_input(1, view(y)));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(invocation->recorded_steps(), 0u);
  std::vector<StepTime> times(64);
  invocation->record_steps(times);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(invocation->run());
    const size_t count = invocation->recorded_steps();
    ASSERT_TRUE(count >= 2 && count <= 2u * static_cast<size_t>(GetParam())) << count;
    std::set<uint32_t> steps;
    for (size_t t = 0; t < count; ++t) {
      steps.insert(times[t].step);
      EXPECT_LT(times[t].thread, static_cast<uint32_t>(GetParam()));
      EXPECT_LE(times[t].begin_ns, times[t].end_ns);
    }
    EXPECT_EQ(steps, (std::set<uint32_t>{0, 1}));
  }
  invocation->record_steps(std::span(times).first(1));  // there is room for one entry, so the others are only counted
  times[1] = {77, 77, 77, 77};
  ASSERT_TRUE(invocation->run());
  EXPECT_GE(invocation->recorded_steps(), 2u);
  EXPECT_EQ(times[1].step, 77u);
  invocation->record_steps({});
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(invocation->recorded_steps(), 0u);
}

TEST_P(Run, ByName) {
  const Program program = load(test::add_and_double());
  const std::vector<float> x = ramp(40), y = ramp(40, 3);
  auto out = program.run(std::vector<NamedTensor>{{"y", view(y)}, {"x", view(x)}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(floats(out->at(0)), twice_the_sum(x, y));
}

TEST_P(Run, TheMostSpecificPlanIsChosen) {
  const Program program = load(test::with_static_plan(32));
  const std::vector<float> x = ramp(32), y = ramp(32, 3), longer = ramp(33);
  EXPECT_EQ(floats(program.run(std::vector<TensorView>{view(x), view(y)})->at(0)),
            twice_the_sum(x, x));  // the static plan's result
  EXPECT_EQ(floats(program.run(std::vector<TensorView>{view(longer), view(longer)})->at(0)),
            twice_the_sum(longer, longer));
}

TEST_P(Run, StaticPlansAreBoundAtOnce) {
  const Program program = load(test::with_static_plan(1000));
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  EXPECT_EQ(invocation->memory().arena_bytes, 64 + 4000);
  EXPECT_EQ(invocation->memory().arena_lower_bound_bytes, 4000);
}

TEST_P(Run, InvocationWithUserBuffersOfAnyAlignment) {
  const Program program = load(test::add_and_double());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation);
  std::vector<float> memory(400);
  for (size_t shift = 0; shift < 17; ++shift) {
    const std::vector<float> x = ramp(100), y = ramp(100, float(shift));
    ASSERT_TRUE(invocation->set_input(0, {x.data(), DType::f32, Shape{100}}));
    ASSERT_TRUE(invocation->set_input("y", {y.data(), DType::f32, Shape{100}}));
    std::fill(memory.begin(), memory.end(), -1.0f);
    ASSERT_TRUE(invocation->set_output("out", {memory.data() + shift, 100 * sizeof(float), DType::f32}));
    Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(std::vector<float>(memory.data() + shift, memory.data() + shift + 100), twice_the_sum(x, y));
    EXPECT_EQ(memory[shift + 100], -1.0f);
    EXPECT_EQ(invocation->output(0).data, memory.data() + shift);
  }
}

TEST_P(Run, ShapesComeAndGo) {
  const Program program = load(test::add_and_double());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation);
  for (int round = 0; round < 3; ++round) {
    for (size_t n = 1; n < 30; n += 2) {  // more shapes than the invocation remembers
      const std::vector<float> x = ramp(n * 50), y = ramp(n * 50, 1);
      ASSERT_TRUE(invocation->set_input(0, view(x)));
      ASSERT_TRUE(invocation->set_input(1, view(y)));
      ASSERT_TRUE(invocation->run());
      EXPECT_EQ(floats(invocation->output("out")), twice_the_sum(x, y));
    }
  }
}

TEST_P(Run, LoopUntilConditionOrTripCount) {
  const Program program = load(test::doubling_loop());
  for (const auto& [start, factor] : {std::pair{1.0f, 16.0f}, {3.0f, 4.0f}, {12.0f, 1.0f}, {0.0f, 256.0f}}) {
    std::vector<float> x = ramp(50, start), expected = x;
    for (float& value : expected) value *= factor;
    auto out = program.run(std::vector<TensorView>{view(x)});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats(out->at(0)), expected) << start;
  }
}

TEST_P(Run, BranchLoopAndViewOfTheSmallArtifact) {
  const Program program = load(test::small_artifact());
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

TEST_P(Run, DataDependentExtents) {
  const Program program = load(test::positives());
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation);
  for (const int positive : {3, 0, 70, 5, 100, 5}) {
    std::vector<float> x(100, -1.0f), expected;
    for (int i = 0; i < positive; ++i) expected.push_back(x[i * 37 % 100] = float(i + 1));
    std::sort(expected.begin(), expected.end(),
              [&](float a, float b) { return int(a - 1) * 37 % 100 < int(b - 1) * 37 % 100; });
    ASSERT_TRUE(invocation->set_input(0, view(x)));
    ASSERT_TRUE(invocation->run());
    EXPECT_EQ(invocation->output(0).shape, Shape{positive});
    EXPECT_EQ(floats(invocation->output(0)), expected);
    auto owned = program.run(std::vector<TensorView>{view(x)});
    ASSERT_TRUE(owned) << owned.error().message;
    EXPECT_EQ(floats(owned->at(0)), expected);
  }
}

TEST_P(Run, ImportsAreBoundByName) {
  test::ArtifactBuilder b(&test::kernels());
  const uint32_t n = b.constant(50), bytes = b.constant(200), tasks = b.constant(4), zero = b.constant(0);
  b.content.manifest.targets[0]->imports = {"erff"};
  b.input("x", fb::DType::f32, {n});
  b.output("y", fb::DType::f32, {n});
  const uint32_t x = b.buffer(fb::BufferKind::input, 0, bytes), y = b.buffer(fb::BufferKind::output, 0, bytes);
  b.launch(b.kernel("test_call_import", 2, 1, zero), {x, y}, {n}, tasks, {1});
  b.close_sequence();
  std::vector<float> values = ramp(50, -2), expected = values;
  for (float& value : expected) value = std::erf(value);
  EXPECT_EQ(floats(load(std::move(b)).run(std::vector<TensorView>{view(values)})->at(0)), expected);
}

TEST_P(Run, KernelErrorsNameTheStep) {
  test::ArtifactBuilder b(&test::kernels());
  const uint32_t n = b.symbol("n", 1, 0), m = b.symbol("m", 0, 0);
  const uint32_t four = b.constant(4), eight = b.constant(8), zero = b.constant(0), sixteen = b.constant(16),
                 fifteen = b.constant(15);
  const uint32_t data_bytes = b.instruction(fb::ExprOp::mul, m, four),
                 index_bytes = b.instruction(fb::ExprOp::mul, n, eight);
  const uint32_t out_bytes = b.instruction(fb::ExprOp::mul, n, four);
  const uint32_t tasks = b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, n, fifteen), sixteen);
  b.input("data", fb::DType::f32, {m});
  b.input("index", fb::DType::i64, {n});
  b.output("y", fb::DType::f32, {n});
  using enum fb::BufferKind;
  const uint32_t data = b.buffer(input, 0, data_bytes), index = b.buffer(input, 1, index_bytes),
                 y = b.buffer(output, 0, out_bytes);
  b.launch(b.kernel("test_gather", 3, 2, zero), {data, index, y}, {n, m}, tasks, {2}).source = "Gather_3";
  b.launch(b.kernel("test_double", 2, 1, sixteen), {y, y}, {n}, tasks, {1}).source = "Mul_4";
  b.close_sequence();
  b.plan().kernels[1]->scratch = b.constant(64);
  const Program program = load(std::move(b));
  const std::vector<float> values = ramp(10);
  std::vector<int64_t> indices(200, 9);
  const TensorView index_view{indices.data(), DType::i64, Shape{200}};
  EXPECT_EQ(floats(program.run(std::vector<TensorView>{view(values), index_view})->at(0)),
            std::vector<float>(200, 18.0f));
  indices[150] = 10;
  auto out = program.run(std::vector<TensorView>{view(values), index_view});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::run_failed);
  EXPECT_EQ(out.error().message, "step 'Gather_3' failed: an index is out of range");
  indices[150] = 0;  // and the program still works
  EXPECT_TRUE(program.run(std::vector<TensorView>{view(values), index_view}));
}

TEST_P(Run, ConcurrentInvocationsShareOneProgram) {
  const Program program = load(test::add_and_double());
  std::vector<std::thread> callers;
  std::vector<int> good(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      auto invocation = program.new_invocation();
      for (int i = 0; i < 50; ++i) {
        const std::vector<float> x = ramp(size_t(200 + 100 * caller), float(i)), y = ramp(x.size(), float(caller));
        if (!invocation->set_input(0, view(x)) || !invocation->set_input(1, view(y)) || !invocation->run()) return;
        if (floats(invocation->output(0)) != twice_the_sum(x, y)) return;
        auto owned = program.run(std::vector<TensorView>{view(x), view(y)});
        if (!owned || floats(owned->at(0)) != twice_the_sum(x, y)) return;
      }
      good[caller] = 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, std::vector<int>(4, 1));
}

TEST(RunLifetime, InvocationsOutliveTheirProgram) {
  test::ArtifactBuilder builder = test::add_and_double();
  auto program = std::make_unique<Result<Program>>(test::load_model(builder, {.threads = 2}));
  Result<Invocation> invocation = (*program)->new_invocation();
  program.reset();
  const std::vector<float> x = ramp(64);
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->set_input(1, view(x)));
  EXPECT_TRUE(invocation->run());
}

}  // namespace
}  // namespace gart
