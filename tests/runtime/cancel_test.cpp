// A run that another thread cancels.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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
      while (!over) invocation->cancel();  // no effect before the run begins
    });
    const Result<void> done = invocation->run();
    over = true;
    other.join();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
    EXPECT_EQ(done.error().message, "the run was cancelled");

    invocation->cancel();  // nothing runs
    ASSERT_TRUE(set(few));
    ASSERT_TRUE(invocation->run());
    EXPECT_EQ(test::floats(invocation->output(0)).at(0), 3.0f);
  }
}

}  // namespace
}  // namespace gart
