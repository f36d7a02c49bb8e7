// Concurrent callers share a pool's threads.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime/cpu/device.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

using test::ramp;
using test::view;

/// A caller of the pool, which enters by come() and leaves by leave().
class Caller {
 public:
  /// Enters the pool. Returns the number of threads that the caller gets. `excludes`: other callers wait for it.
  int come(cpu::Device& pool, bool excludes = false) {
    shift_ = nullptr;
    shift_ = std::make_unique<cpu::Shift>(pool, excludes);
    return shift_->team() == nullptr ? 1 : shift_->team()->size();
  }
  void leave() { shift_ = nullptr; }

 private:
  std::unique_ptr<cpu::Shift> shift_;
};

TEST(Callers, WithAsManyAsThreadsEachWorksAlone) {
  cpu::Device pool("cpu", 2);
  Caller a, b;
  EXPECT_EQ(a.come(pool), 2);
  EXPECT_EQ(b.come(pool), 1);
  for (int run = 0; run < 20; ++run) {
    EXPECT_EQ(a.come(pool), 1) << run;
    EXPECT_EQ(b.come(pool), 1) << run;
  }
}

/// A caller still counts between two of its runs, whichever caller is inside when the other one enters.
TEST(Callers, GapsBetweenRunsAreNoPlaceForATeam) {
  cpu::Device pool("cpu", 2);
  Caller a, b;
  a.come(pool), b.come(pool);
  for (int run = 0; run < 20; ++run) {
    Caller &first = run % 3 == 0 ? b : a, &second = run % 3 == 0 ? a : b;
    a.leave(), b.leave();
    EXPECT_EQ(first.come(pool), 1) << run;
    EXPECT_EQ(second.come(pool), 1) << run;
  }
}

/// A run that changes states of the program has no company, so it has all threads although others came recently.
/// It does not make the others forgotten.
TEST(Callers, ARunThatOthersWaitForHasAllFreeThreads) {
  cpu::Device pool("cpu", 2);
  Caller a, b;
  a.come(pool), b.come(pool);
  for (int run = 0; run < 20; ++run) {
    a.leave(), b.leave();
    EXPECT_EQ(a.come(pool, true), 2) << run;
    a.leave();
    EXPECT_EQ(a.come(pool), 1) << run;
    EXPECT_EQ(b.come(pool, true), 1) << run;  // another program's run is inside
    EXPECT_EQ(b.come(pool), 1) << run;
  }
}

/// A caller that enters many times while the other is between two short runs does not count as alone.
TEST(Callers, ShortRunsDoNotMakeTheOtherForgotten) {
  cpu::Device pool("cpu", 2);
  Caller a, b;
  a.come(pool), b.come(pool);
  b.leave();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  for (int run = 0; run < 100 && std::chrono::steady_clock::now() < end; ++run) EXPECT_EQ(a.come(pool), 1) << run;
}

TEST(Callers, WhoIsAloneAgainHasAllThreadsSoon) {
  cpu::Device pool("cpu", 4);
  std::vector<Caller> callers(4);
  for (Caller& caller : callers) caller.come(pool);
  for (Caller& caller : callers) EXPECT_EQ(caller.come(pool), 1);
  for (Caller& caller : callers) caller.leave();
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  int runs = 1;
  while (callers[0].come(pool) < 4) ASSERT_LT(++runs, 9);
}

TEST(Callers, ShareThreadsWithoutOneTooMany) {
  cpu::Device pool("cpu", 8);
  Caller a, b, c;
  EXPECT_EQ(a.come(pool), 8);
  EXPECT_EQ(b.come(pool), 1);  // the first caller keeps its threads until its run has ended
  EXPECT_EQ(a.come(pool), 4);
  EXPECT_EQ(b.come(pool), 4);
  EXPECT_EQ(c.come(pool), 1);
  EXPECT_EQ(a.come(pool), 3);
  EXPECT_EQ(b.come(pool), 3);
  EXPECT_EQ(c.come(pool), 2);
}

TEST(Callers, ReplicasHaveThreadsOfTheirOwn) {
  cpu::Device pool("cpu", 6, {.replicas = 2});
  Caller a, b, c;
  EXPECT_EQ(a.come(pool), 3);
  EXPECT_EQ(b.come(pool), 3);
  EXPECT_EQ(c.come(pool), 1);
}

/// Runs continue with the threads that are free, and give the same results.
TEST(Callers, RunsTakeTheThreadsThatAreLeft) {
  test::ArtifactBuilder builder = test::add_and_double();
  Result<Program> program = test::load_model(builder, {.device = "cpu", .threads = 4});
  ASSERT_TRUE(program) << program.error().message;
  auto invocation = program->new_invocation();
  const std::vector<float> x = ramp(4096), y = ramp(4096, 2);
  ASSERT_TRUE(invocation && invocation->set_input(0, view(x)) && invocation->set_input(1, view(y)));
  std::vector<StepTime> times(64);
  invocation->record_steps(times);
  const auto threads = [&] {
    EXPECT_TRUE(invocation->run());
    for (size_t i = 0; i < x.size(); ++i)
      if (invocation->output(0).elements<float>()[i] != 2 * (x[i] + y[i])) return std::set<uint32_t>{};
    std::set<uint32_t> found;
    for (size_t t = 0; t < invocation->recorded_steps(); ++t) found.insert(times[t].thread);
    return found;
  };
  using Threads = std::set<uint32_t>;
  cpu::Device pool("cpu", 4);  // the program's
  EXPECT_EQ(threads(), (Threads{0, 1, 2, 3}));
  Caller other;
  EXPECT_EQ(other.come(pool), 4);
  EXPECT_EQ(threads(), Threads{0});
  EXPECT_EQ(other.come(pool), 2);
  EXPECT_EQ(threads(), (Threads{0, 1}));
}

}  // namespace
}  // namespace gart
