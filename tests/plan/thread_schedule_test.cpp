// The model of the runtime's threads.
#include "compiler/plan/thread_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/kernel/machine.h"

namespace gcg {
namespace {

using Steps = std::vector<ThreadWork>;

/// Adds a chain of `steps` steps without predecessors; returns its last step.
size_t add_chain(Steps& steps, int count, double microseconds, double tasks = 1) {
  for (int i = 0; i < count; ++i) {
    steps.push_back({microseconds, tasks});
    if (i > 0) steps.back().after.push_back(steps.size() - 2);
  }
  return steps.size() - 1;
}

double sum(const Steps& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0, [](double s, const auto& w) { return s + w.microseconds; });
}

bool all_together(const ThreadSchedule& schedule) {
  return std::all_of(schedule.threads.begin(), schedule.threads.end(), [](int t) { return t == kTogether; });
}

TEST(ThreadSchedule, AChainStaysAsItIs) {
  Steps light, heavy;
  add_chain(light, 50, 1);
  add_chain(heavy, 50, 200, 64);
  for (const int threads : {2, 4, 16}) {
    EXPECT_TRUE(all_together(schedule_threads(light, threads)));
    EXPECT_GE(schedule_threads(light, threads).microseconds, sum(light));
    EXPECT_TRUE(all_together(schedule_threads(heavy, threads)));
    EXPECT_LE(schedule_threads(heavy, threads).microseconds, sum(heavy) / threads + 50 * 4 * kThreadBarrier);
  }
}

TEST(ThreadSchedule, LightChainsGetAThreadEach) {
  Steps steps;
  const size_t a = add_chain(steps, 20, 2), b = add_chain(steps, 20, 2);
  steps.push_back({1, 1, {a, b}});
  const ThreadSchedule schedule = schedule_threads(steps, 2);
  for (size_t i = 0; i <= a; ++i) EXPECT_EQ(schedule.threads[i], schedule.threads[0]) << i;
  for (size_t i = a + 1; i <= b; ++i) EXPECT_EQ(schedule.threads[i], 1 - schedule.threads[0]) << i;
  EXPECT_LE(schedule.microseconds, 42);
  EXPECT_NEAR(schedule.microseconds_intra, 81, 1);
}

TEST(ThreadSchedule, ChainsThatNothingPrecedesOrFollowsCount) {
  Steps steps;
  add_chain(steps, 20, 2);
  add_chain(steps, 20, 2);
  EXPECT_LE(schedule_threads(steps, 2).microseconds, 42);
}

TEST(ThreadSchedule, StretchesAreScheduledByThemselves) {
  Steps steps;  // chains that fork and join, with heavy steps between them
  size_t last = add_chain(steps, 1, 1);
  for (int i = 0; i < 3; ++i) {
    const size_t a = add_chain(steps, 10, 2), b = add_chain(steps, 10, 2);
    steps[a - 9].after = {last};
    steps[b - 9].after = {last};
    last = steps.size();
    steps.push_back({300, 64, {a, b}});
  }
  const ThreadSchedule schedule = schedule_threads(steps, 2);
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ(schedule.threads[i] == kTogether, steps[i].microseconds > 100) << i;
  EXPECT_LE(schedule.microseconds, 1 + 3 * (150 + 20 + 5));
}

TEST(ThreadSchedule, AnEvenCutOfFewTasksIsLeftToStreams) {
  Steps steps;  // with three tasks on two threads, a step that all threads share takes 2/3 of its time instead of half
  const size_t a = add_chain(steps, 10, 30, 3), b = add_chain(steps, 10, 30, 3);
  steps.push_back({1, 1, {a, b}});
  EXPECT_FALSE(all_together(schedule_threads(steps, 2)));
}

TEST(ThreadSchedule, NothingIsGainedByMovingStepsThatFollowEachOther) {
  Steps steps;  // two producers of one memory range: the second waits for the first, because it overwrites it
  steps.push_back({20, 1});
  steps.push_back({20, 1, {0}});
  steps.push_back({20, 1, {1}});
  EXPECT_TRUE(all_together(schedule_threads(steps, 2)));
}

/// No schedule may take longer than if all threads shared each step, or less than the work and the longest chain allow.
/// Steps must only wait for steps of their own region.
TEST(ThreadSchedule, IsWithinItsBounds) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Steps steps;
    std::vector<double> ends;
    const int count = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i) {
      ThreadWork work{0.1 * static_cast<double>(random() % 500), 1.0 + static_cast<double>(random() % 4)};
      double end = 0;
      for (int k = 0; k < 2 && i > 0; ++k) {
        const size_t p = random() % static_cast<size_t>(i);
        if (random() % 3 != 0 && (work.after.empty() || work.after[0] != p)) work.after.push_back(p);
      }
      for (size_t p : work.after) end = std::max(end, ends[p]);
      ends.push_back(end + work.microseconds / work.tasks);
      steps.push_back(std::move(work));
    }
    for (const int threads : {2, 3, 8}) {
      const ThreadSchedule schedule = schedule_threads(steps, threads);
      EXPECT_LE(schedule.microseconds, schedule.microseconds_intra + 1e-9);
      EXPECT_GE(schedule.microseconds, *std::max_element(ends.begin(), ends.end()) - 1e-9);
      EXPECT_GE(schedule.microseconds, sum(steps) / threads - 1e-9);
      for (const int t : schedule.threads) EXPECT_TRUE(t >= kTogether && t < threads);
    }
  }
}

}  // namespace
}  // namespace gcg
