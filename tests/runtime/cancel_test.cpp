// Runs that another thread cancels, and calls while a run is in progress.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <type_traits>

#include "runtime/cpu/device.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

/// A loop with so many iterations that it would exceed the test's time limit.
TEST(Cancel, ARunEndsBeforeItsNextStep) {
  for (const int threads : {1, 2}) {
    test::ArtifactBuilder builder = test::picking_loop();
    const Result<Program> program = test::load_model(builder, {.device = "cpu", .threads = threads});
    ASSERT_TRUE(program) << program.error().message;
    auto invocation = program->new_invocation();
    const std::vector<float> data(1 << 24, 1.0f);
    const int64_t all = 1 << 24, few = 3;
    const auto set = [&](const int64_t& trips) {
      return invocation->set_input(0, test::view(data)).ok() &&
             invocation->set_input(1, {&trips, DType::i64, Shape{}}).ok();
    };
    ASSERT_TRUE(set(all));
    std::atomic<bool> over = false;
    std::thread other([&] {
      while (!over) invocation->cancel();
    });
    const Result<void> done = invocation->run();
    over = true;
    other.join();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
    EXPECT_EQ(done.error().message, "the run was cancelled");

    ASSERT_TRUE(set(few));
    static_cast<void>(invocation->run());  // the last cancel() may have come after the first run and cancel this one
    ASSERT_TRUE(invocation->run());
    EXPECT_EQ(test::floats(invocation->output(0)).at(0), 3.0f);
  }
}

/// cancel() before a run must cancel it. Otherwise a thread that cancels just before the run begins would wait for the
/// whole run.
TEST(Cancel, JustBeforeARunIsNotLost) {
  test::ArtifactBuilder builder = test::picking_loop();
  const Result<Program> program = test::load_model(builder, {.device = "cpu"});
  auto invocation = program->new_invocation();
  const std::vector<float> data(4, 1.0f);
  const int64_t trips = 3;
  ASSERT_TRUE(invocation->set_input(0, test::view(data)));
  ASSERT_TRUE(invocation->set_input(1, {&trips, DType::i64, Shape{}}));
  invocation->cancel();
  const Result<void> done = invocation->run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  ASSERT_TRUE(invocation->run()) << "only one run is cancelled";
  invocation->cancel();
  ASSERT_TRUE(invocation->wait()) << "nothing was enqueued";
  ASSERT_TRUE(invocation->run()) << "wait() ends what was cancelled";
}

/// Calls f() while a run is in progress, and then cancels the run.
void during_a_run(Invocation& invocation, const std::function<void()>& f) {
  const std::vector<float> data(1 << 24, 1.0f);
  const int64_t all = 1 << 24;
  ASSERT_TRUE(invocation.set_input(0, test::view(data)));
  ASSERT_TRUE(invocation.set_input(1, {&all, DType::i64, Shape{}}));
  std::thread runs([&] {
    const Result<void> done = invocation.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  });
  const auto is_idle = [&] {  // this call has no effect but its error
    return !invocation.set_output("nothing", {}).error().message.starts_with("the invocation is running");
  };
  while (is_idle()) std::this_thread::yield();
  f();
  invocation.cancel();
  runs.join();
}

TEST(TwoThreads, InOneInvocationAreNoticed) {
  test::ArtifactBuilder builder = test::picking_loop();
  const Result<Program> program = test::load_model(builder, {.device = "cpu", .threads = 1});
  auto invocation = program->new_invocation();
  during_a_run(*invocation, [&] {
    const int64_t few = 3;
    for (const Result<void>& done : {invocation->run(), invocation->wait(), invocation->set_output(0, {}),
                                     invocation->set_input(1, {&few, DType::i64, Shape{}})}) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
      EXPECT_EQ(done.error().message, "the invocation is running and cannot be used meanwhile");
    }
  });
}

TEST(Limit, ARunBeyondItFailsOrWaits) {
  test::ArtifactBuilder builder = test::picking_loop();
  const std::vector<float> data(4, 1.0f);
  const int64_t trips = 3;
  const std::vector<TensorView> few = {test::view(data), {&trips, DType::i64, Shape{}}};
  for (const bool refuses : {true, false}) {
    const Result<Program> program =
        test::load_model(builder, {.device = "cpu", .threads = 1, .runs = 1, .refuse_runs = refuses});
    ASSERT_TRUE(program) << program.error().message;
    auto invocation = program->new_invocation(), other = program->new_invocation();
    ASSERT_TRUE(other->set_input(0, few[0]));
    ASSERT_TRUE(other->set_input(1, few[1]));
    std::vector<std::thread> waiting;
    std::atomic<int> ended = 0;
    during_a_run(*invocation, [&] {
      if (refuses) {
        for (const Error& error : {program->run(few).error(), other->run().error()}) {
          EXPECT_EQ(error.code, ErrorCode::busy);
          EXPECT_EQ(error.message, "the limit of runs (LoadOptions.runs) is reached");
        }
        return;
      }
      waiting.emplace_back([&] { EXPECT_TRUE(program->run(few)), ++ended; });
      waiting.emplace_back([&] { EXPECT_TRUE(other->run()), ++ended; });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(ended, 0);
    });
    for (std::thread& thread : waiting) thread.join();
    ASSERT_TRUE(program->run(few)) << "the places are free again";
  }
  const Result<Program> wrong = test::load_model(builder, {.device = "cpu", .runs = -1});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "runs is -1; 0 to 1024 are possible");
}

// A copy would point to the memory of the original.
static_assert(!std::is_copy_constructible_v<cpu::Device> && !std::is_copy_assignable_v<cpu::Device>);

}  // namespace
}  // namespace gart
