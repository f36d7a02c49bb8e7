#include "tests/runtime/device_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

namespace gart {
namespace {

using test::floats;
using test::ramp;
using test::view;

class DeviceSuite : public testing::TestWithParam<test::DeviceUnderTest> {
 protected:
  void SetUp() override { GetParam().begin(); }
  void TearDown() override {
    programs_.clear();
    GetParam().end();
  }
  const Program& load(test::ArtifactBuilder builder) {
    test::ArtifactBuilder model = GetParam().model(std::move(builder));
    Result<Program> program = test::load_model(model, {.device = GetParam().device, .threads = GetParam().threads});
    EXPECT_TRUE(program) << program.error().message;
    programs_.push_back(std::make_unique<Program>(*program));
    return *programs_.back();
  }

 private:
  std::vector<std::unique_ptr<Program>> programs_;
};
INSTANTIATE_TEST_SUITE_P(On, DeviceSuite, testing::ValuesIn(test::devices_under_test()),
                         [](const auto& device) { return device.param.name; });

std::vector<float> scaled(std::vector<float> x, float factor) {
  for (float& value : x) value *= factor;
  return x;
}

TEST_P(DeviceSuite, IsNamed) {
  const Program& program = load(test::add_and_double());
  EXPECT_TRUE(program.device().starts_with(GetParam().device)) << program.device();
  if (GetParam().device.starts_with("cpu")) {
    EXPECT_EQ(program.device(), GetParam().device);
    EXPECT_EQ(program.threads(), GetParam().threads);
  }
}

/// Launches in order, with more shapes in turn than an invocation remembers.
TEST_P(DeviceSuite, LaunchesInOrderWhateverTheShape) {
  auto invocation = load(test::add_and_double()).new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  for (int round = 0; round < 3; ++round) {
    for (const size_t n : {1, 16, 17, 0, 100, 1000, 33, 34, 35, 36, 17}) {
      const std::vector<float> x = ramp(n), y = ramp(n, 0);
      ASSERT_TRUE(invocation->set_input(0, view(x)) && invocation->set_input(1, view(y)));
      Result<void> run = invocation->run();
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_EQ(invocation->output(0).shape, Shape{int64_t(n)});
      EXPECT_EQ(floats(invocation->output(0)), scaled(x, 4)) << n;
    }
  }
}

/// Copies between the caller's memory and the device's, at every alignment, into the caller's buffers and the
/// invocation's.
TEST_P(DeviceSuite, MemoryOfTheCallers) {
  auto invocation = load(test::add_and_double()).new_invocation();
  const std::vector<float> data = ramp(300);
  std::vector<uint8_t> in(2000), out(2000);
  for (const size_t shift : {size_t{0}, size_t{1}, size_t{4}, size_t{63}, size_t{64}}) {
    std::memcpy(in.data() + shift, data.data(), 1200);
    const TensorView x{in.data() + shift, DType::f32, Shape{300}};
    ASSERT_TRUE(invocation->set_input(0, x) && invocation->set_input(1, view(data)));
    std::fill(out.begin(), out.end(), uint8_t{0xcd});
    ASSERT_TRUE(invocation->set_output(0, {out.data() + shift, 1200, DType::f32}));
    Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    std::vector<float> got(300);
    std::memcpy(got.data(), out.data() + shift, 1200);
    EXPECT_EQ(got, scaled(data, 4)) << shift;
    EXPECT_EQ(out[shift + 1200], 0xcd);
    ASSERT_TRUE(invocation->set_output(0, {}));
    ASSERT_TRUE(invocation->run());
    EXPECT_EQ(floats(invocation->output(0)), scaled(data, 4)) << shift;
  }
}

/// Callers overwrite an input with an output to feed back a recurrent model's state.
TEST_P(DeviceSuite, AnOutputMayLieOverAnInput) {
  auto invocation = load(test::add_and_double()).new_invocation();
  const std::vector<float> data = ramp(300);
  for (const size_t shift : {size_t{0}, size_t{1}, size_t{16}, size_t{299}}) {
    std::vector<float> memory(600);
    std::copy(data.begin(), data.end(), memory.begin());
    const TensorView x{memory.data(), DType::f32, Shape{300}};
    ASSERT_TRUE(invocation->set_input(0, x) && invocation->set_input(1, x));
    ASSERT_TRUE(invocation->set_output(0, {memory.data() + shift, 1200, DType::f32}));
    ASSERT_TRUE(invocation->run());
    EXPECT_EQ(floats(invocation->output(0)), scaled(data, 4)) << shift;
    EXPECT_EQ(std::vector<float>(memory.begin(), memory.begin() + shift),
              std::vector<float>(data.begin(), data.begin() + shift));
  }
}

/// A fill and a copy of a constant in a loop over iterations, after an If.
TEST_P(DeviceSuite, FillsCopiesBranchesAndTrips) {
  const Program& program = load(test::small_artifact());
  const std::vector<float> x = ramp(80), y = ramp(80, 100);
  for (const uint8_t flag : {uint8_t{1}, uint8_t{0}, uint8_t{7}}) {
    auto out = program.run(std::vector<TensorView>{
        {x.data(), DType::f32, Shape{5, 16}}, {y.data(), DType::f32, Shape{5, 16}}, {&flag, DType::boolean, Shape{}}});
    ASSERT_TRUE(out) << out.error().message;
    std::vector<float> expected = flag != 0 ? x : y;
    for (size_t i = 0; i < 16; ++i) std::memset(&expected[i], 0x3f, 4);
    EXPECT_EQ(floats(out->at(0)), expected);
  }
}

TEST_P(DeviceSuite, LoopsUntilConditionOrTripCount) {
  const Program& program = load(test::doubling_loop());
  for (const auto& [start, factor] : {std::pair{1.0f, 16.0f}, {3.0f, 4.0f}, {12.0f, 1.0f}, {0.0f, 256.0f}}) {
    const std::vector<float> x = ramp(50, start);
    auto out = program.run(std::vector<TensorView>{view(x)});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats(out->at(0)), scaled(x, factor)) << start;
  }
}

/// A loop without a condition, whose trip count is an input; the iteration number selects the summand.
TEST_P(DeviceSuite, LoopsCountTheirTurns) {
  const Program& program = load(test::picking_loop());
  const std::vector<float> data = {1, 20, 300, 4000};
  float sum = 0;
  for (int64_t trips = 0; trips <= 4; ++trips) {
    auto out = program.run(std::vector<TensorView>{view(data), {&trips, DType::i64, Shape{}}});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats(out->at(0)), std::vector<float>{sum}) << trips;
    if (trips < 4) sum += data[size_t(trips)];
  }
}

/// Sizes of temporaries and outputs that depend on a result.
TEST_P(DeviceSuite, LateSizes) {
  auto invocation = load(test::positives()).new_invocation();
  std::vector<float> x, out(100, -1.0f);
  for (const float start : {-50.0f, -200.0f, 1.0f, -99.0f, -50.0f}) {
    x = ramp(100, start);
    ASSERT_TRUE(invocation->set_input(0, view(x)));
    ASSERT_TRUE(invocation->set_output(0, start == 1.0f ? OutputBuffer{out.data(), 400, DType::f32} : OutputBuffer{}));
    Result<void> run = invocation->run();
    ASSERT_TRUE(run) << run.error().message;
    std::vector<float> expected;
    for (const float value : x) {
      if (value > 0) expected.push_back(value);
    }
    EXPECT_EQ(floats(invocation->output(0)), expected) << start;
  }
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 4, DType::f32}));
  Result<void> run = invocation->run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "output 'out' needs 196 bytes, but its buffer has 4");
}

/// A kernel that fails in the middle fails only its own run. Later runs must be correct, also those of other callers.
TEST_P(DeviceSuite, RunsAfterAFailure) {
  const Program& program = load(test::gathering_twice());
  auto invocation = program.new_invocation(), other = program.new_invocation();
  const std::vector<float> data = {1, 2, 3};
  const std::vector<int64_t> good(100, 2), bad = [] {
    std::vector<int64_t> index(100, 1);
    index[50] = 3;
    return index;
  }();
  for (int round = 0; round < 3; ++round) {
    for (const auto* index : {&good, &bad, &good, &bad}) {
      for (Result<Invocation>* caller : {&invocation, &other}) {
        ASSERT_TRUE((*caller)->set_input(0, view(data)));
        ASSERT_TRUE((*caller)->set_input(1, {index->data(), DType::i64, Shape{100}}));
        Result<void> run = (*caller)->run();
        ASSERT_EQ(run.ok(), index == &good);
        if (run) {
          EXPECT_EQ(floats((*caller)->output(0)), std::vector<float>(100, 6.0f));
        } else {
          EXPECT_EQ(
              run.error().message,
              "step 'Gather_1' failed: index 3, element 50 of the indices, is out of range: it must be in [0, 3)");
          EXPECT_EQ(run.error().code, ErrorCode::run_failed);
        }
      }
    }
  }
}

/// A string becomes its index in the input's list of known strings. Each run reads the strings again.
TEST_P(DeviceSuite, StringsAreLookedUp) {
  test::ArtifactBuilder builder = test::gathering_twice();
  builder.entry().inputs[1]->labels = {"", "ape", "dog"};
  const Program& program = load(std::move(builder));
  ASSERT_EQ(program.inputs()[1].dtype, DType::string);
  EXPECT_EQ(program.inputs()[1].strings, (std::vector<std::string>{"", "ape", "dog"}));
  const std::vector<float> data = {1, 2, 3};
  std::vector<const char*> texts = {"dog", "", "ape", "dog"};
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation->set_input(0, view(data)));
  ASSERT_TRUE(invocation->set_input(1, {texts.data(), DType::string, Shape{4}}));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(floats(invocation->output(0)), (std::vector<float>{6, 2, 4, 6}));
  texts[1] = "ape";
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(floats(invocation->output(0)), (std::vector<float>{6, 4, 4, 6}));
  texts[2] = "cow";  // the list does not have it, so its index is -1, which this model refuses
  EXPECT_NE(invocation->run().error().message.find("index -1, element 2"), std::string::npos);
  texts[2] = nullptr;
  EXPECT_EQ(invocation->run().error().message, "input 'index': string 2 is null");
  const std::vector<int64_t> numbers(4, 0);
  EXPECT_EQ(invocation->set_input(1, {numbers.data(), DType::i64, Shape{4}}).error().message,
            "input 'index' must be string, but is i64");
}

/// A run that fails before its first step must leave the outputs unchanged.
TEST_P(DeviceSuite, RunsThatCannotBegin) {
  auto invocation = load(test::add_and_double()).new_invocation();
  const std::vector<float> x = ramp(8);
  std::vector<float> out(8, -1.0f);
  Result<void> run = invocation->run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "input 0 'x' is not set");
  ASSERT_TRUE(invocation->set_input(0, view(x)) && invocation->set_input(1, view(x)));
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 31, DType::f32}));
  run = invocation->run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "output 'out' needs 32 bytes, but its buffer has 31");
  EXPECT_EQ(out, std::vector<float>(8, -1.0f));
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 32, DType::f32}));
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(out, scaled(x, 4));
}

TEST_P(DeviceSuite, ConcurrentCallers) {
  const Program &loop = load(test::doubling_loop()), &late = load(test::positives());
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 30; ++i) {
        const std::vector<float> x = ramp(size_t(20 + 7 * caller + i % 3), 1);
        auto doubled = loop.run(std::vector<TensorView>{view(x)}), found = late.run(std::vector<TensorView>{view(x)});
        ASSERT_TRUE(doubled && found);
        EXPECT_EQ(floats(doubled->at(0)), scaled(x, 16));
        EXPECT_EQ(floats(found->at(0)), x);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

/// Several devices of a kind can be in one process.
TEST_P(DeviceSuite, ProgramsBesideEachOther) {
  const Program &one = load(test::add_and_double()), &two = load(test::with_static_plan(40));
  const std::vector<float> x = ramp(40), y = ramp(40, 3);
  for (int i = 0; i < 3; ++i) {
    auto sums = one.run(std::vector<TensorView>{view(x), view(x)}),
         doubled = two.run(std::vector<TensorView>{view(x), view(y)});
    ASSERT_TRUE(sums && doubled);
    EXPECT_EQ(floats(sums->at(0)), scaled(x, 4));
    EXPECT_EQ(floats(doubled->at(0)), scaled(x, 4));
  }
}

}  // namespace
}  // namespace gart
