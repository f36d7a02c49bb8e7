// Steps wait for each other only if they touch the same bytes.
#include <gtest/gtest.h>

#include "artifact_schema/reader.h"
#include "runtime/barriers.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

using enum fb::BufferKind;

struct CopyStep {
  uint32_t to, from;  // buffers
  int64_t tasks;
  uint16_t first = 0;  // first thread; a step that begins on a thread other than 0 runs on this thread alone
};

/// The barriers before each step. Buffers: 0 input, 1 output, 2 constant; temporaries 3 at [0, 256), 4 at [256, 512), 5
/// at [0, 512); 6 is the second half of 5. All except 5 have 256 bytes.
std::vector<int> barriers(const std::vector<CopyStep>& steps, std::vector<Wait>* out = nullptr) {
  test::ArtifactBuilder b;
  const uint32_t size = b.constant(256), whole = b.constant(512), tasks = b.constant(1);
  b.input("x", fb::DType::u8, {size});
  b.output("y", fb::DType::u8, {size});
  b.buffer(input, 0, size), b.buffer(output, 0, size), b.buffer(constant, 0, size);
  b.buffer(temporary, 0, size, 0), b.buffer(temporary, 0, size, 256), b.buffer(temporary, 0, whole, 0);
  b.view(5, size, 0);
  for (const CopyStep& step : steps) b.step(fb::StepKind::copy, {step.to, step.from}, tasks);
  b.close_sequence();
  const std::vector<uint8_t> bytes = b.write();
  ArtifactView view;
  EXPECT_EQ(read_artifact(bytes, view).message, "");
  const fb::EntryPoint& entry = *view.manifest->entry_points()->Get(0);
  const Plan plan = make_plan(entry, *entry.plans()->Get(0));
  const std::vector<BufferExtent> extents = {{256, -1},  {256, -1}, {256, 0},  {256, 0},
                                             {256, 256}, {512, 0},  {256, 256}};
  std::vector<Share> shares;
  for (const CopyStep& step : steps) shares.push_back({step.tasks, step.first, uint16_t(step.first == 0 ? 4 : 1)});
  BarrierFinder finder;
  std::vector<Wait> waits;
  finder.find(plan, extents, shares, waits);
  const std::span<const uint8_t> needed = finder.needed();
  if (out != nullptr) *out = waits;
  return {needed.begin() + 1, needed.end()};  // the first step of a run needs no barrier
}

TEST(Barriers, ReadAfterWriteWriteAfterReadWriteAfterWrite) {
  EXPECT_EQ(barriers({{3, 0, 4}, {4, 3, 4}}), std::vector<int>{1});
  EXPECT_EQ(barriers({{3, 4, 4}, {4, 0, 4}}), std::vector<int>{1});
  EXPECT_EQ(barriers({{3, 0, 4}, {3, 2, 4}}), std::vector<int>{1});
}

TEST(Barriers, NoneBetweenIndependentSteps) {
  EXPECT_EQ(barriers({{3, 0, 4}, {4, 0, 4}, {1, 2, 4}}), (std::vector<int>{0, 0}));
}

TEST(Barriers, SharedArenaBytesCountNotBufferNumbers) {
  EXPECT_EQ(barriers({{3, 0, 4}, {6, 0, 4}}), std::vector<int>{0});  // 6 is the second half of 5
  EXPECT_EQ(barriers({{4, 0, 4}, {6, 0, 4}}), std::vector<int>{1});
  EXPECT_EQ(barriers({{6, 0, 4}, {1, 4, 4}}), std::vector<int>{1});
}

TEST(Barriers, OlderStepsSinceTheLastBarrierCount) {
  EXPECT_EQ(barriers({{3, 0, 4}, {4, 0, 4}, {1, 3, 4}}), (std::vector<int>{0, 1}));
  EXPECT_EQ(barriers({{3, 0, 4}, {1, 3, 4}, {4, 3, 4}}), (std::vector<int>{1, 0}));
}

TEST(Barriers, SingleTaskStepsShareThreadZero) {
  EXPECT_EQ(barriers({{3, 0, 1}, {4, 3, 1}, {1, 4, 1}}), (std::vector<int>{0, 0}));
  EXPECT_EQ(barriers({{3, 0, 1}, {4, 3, 4}, {1, 4, 1}}), (std::vector<int>{1, 1}));
}

/// The waits as text: "2<1.0" means that step 2 waits until thread 1 has finished step 0.
std::string waits(const std::vector<CopyStep>& steps) {
  std::vector<Wait> found;
  std::string out;
  for (const int barrier : barriers(steps, &found)) EXPECT_EQ(barrier, 0);
  for (const Wait& w : found)
    out += std::to_string(w.step) + "<" + std::to_string(w.thread) + "." + std::to_string(w.on) + " ";
  return out;
}

TEST(Barriers, StepsOfOneThreadEachWaitForEachOther) {
  EXPECT_EQ(waits({{3, 0, 1}, {4, 0, 4, 1}}), "");
  EXPECT_EQ(waits({{3, 0, 1}, {4, 3, 4, 1}, {1, 4, 1}}), "1<0.0 2<1.1 ");  // read after write
  EXPECT_EQ(waits({{4, 3, 1}, {3, 0, 1, 1}}), "1<0.0 ");                   // write after read
  EXPECT_EQ(waits({{3, 0, 1}, {3, 2, 1, 1}}), "1<0.0 ");                   // write after write
  EXPECT_EQ(waits({{3, 0, 1, 1}, {4, 0, 1, 1}, {5, 0, 1, 2}}), "2<1.1 ");  // one wait, for the thread's last step
  EXPECT_EQ(waits({{3, 0, 0, 1}, {4, 3, 1}}), "");                         // a step without tasks runs on no thread
}

TEST(Barriers, StepsOfSeveralThreadsNeedBarriersBesideStreams) {
  EXPECT_EQ(barriers({{3, 0, 1, 1}, {4, 3, 4}, {1, 4, 1, 1}}), (std::vector<int>{1, 1}));
}

/// Each step divides its copy differently, so that nearly every byte moves between threads. A missing barrier gives
/// wrong data (and a race under tsan).
TEST(Barriers, DataSurvivesCrossingThreads) {
  test::ArtifactBuilder b;
  const int64_t bytes = 1 << 16;
  const uint32_t size = b.constant(bytes);
  b.input("x", fb::DType::u8, {size});
  b.output("y", fb::DType::u8, {size});
  const uint32_t x = b.buffer(input, 0, size), y = b.buffer(output, 0, size);
  const uint32_t first = b.buffer(temporary, 0, size, 0), second = b.buffer(temporary, 0, size, uint64_t(bytes));
  b.plan().arena_bytes = uint64_t(2 * bytes);
  uint32_t from = x;
  for (int64_t i = 0; i < 60; ++i) {
    const uint32_t to = i % 2 == 0 ? first : second;
    b.step(fb::StepKind::copy, {to, from}, b.constant(2 + i * 7 % 13));
    from = to;
  }
  b.step(fb::StepKind::copy, {y, from}, b.constant(3));
  b.close_sequence();
  Result<Program> program = test::load_model(b, {.threads = 3});
  ASSERT_TRUE(program) << program.error().message;
  std::vector<uint8_t> data(static_cast<size_t>(bytes));
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = uint8_t(i * 31 + i / 256 + size_t(round));
    auto out = program->run(std::vector<TensorView>{{data.data(), DType::u8, Shape{bytes}}});
    ASSERT_TRUE(out) << out.error().message;
    ASSERT_EQ(std::memcmp(out->at(0).data(), data.data(), data.size()), 0) << round;
  }
}

}  // namespace
}  // namespace gart
