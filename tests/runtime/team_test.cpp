// Threads of a team take over the work of threads that have not arrived.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/cpu/thread_team.h"

namespace gart::cpu {
namespace {

/// Counts how often each share of each section was done. A section has one step.
struct Count {
  explicit Count(int shares, uint32_t sections) : shares(shares), done(static_cast<size_t>(shares) * sections) {}
  static uint32_t job(void* data, int share, uint32_t step) {
    auto& count = *static_cast<Count*>(data);
    const size_t first = static_cast<size_t>(step) * count.shares;
    for (size_t i = first - std::min<size_t>(first, count.shares); i < first; ++i) count.early += count.done[i] != 1;
    ++count.done[first + share];
    if (count.slow == share) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return step + 1;
  }
  int wrong() const {
    int wrong = early;
    for (const std::atomic<int>& times : done) wrong += times != 1;
    return wrong;
  }
  const size_t shares;
  int slow = -1;                       // index of a share that takes long
  std::atomic<int> early = 0;          // number of times when a share of the previous section was not done yet
  std::vector<std::atomic<int>> done;  // per section and share
};

TEST(Team, ACallerDoesTheSharesOfThreadsThatDoNotCome) {
  ThreadTeam team(4, kLongSpin);
  std::array<Signal, 3> calls;
  for (Signal& call : calls) team.take(call);
  for (int run = 0; run < 3; ++run) {
    Count count(4, 5);
    team.run(&Count::job, &count, 0, 5);
    EXPECT_EQ(count.wrong(), 0);
  }
  for (const Signal& call : calls) EXPECT_EQ(call.value(), 3u);
  team.work(1);  // a thread that arrives after the job has ended
}

/// Two callers run jobs and exchange helpers. Helpers arrive late or not at all, at their own team or at the other one.
TEST(Team, LateThreadsDoNoShareTwice) {
  constexpr int kHelpers = 3, kRounds = 150;
  std::array<std::unique_ptr<ThreadTeam>, 2> teams;
  for (auto& team : teams) team = std::make_unique<ThreadTeam>(kHelpers + 1, kShortSpin);
  std::array<Signal, kHelpers> calls;
  std::atomic<bool> stop = false;
  std::vector<std::thread> helpers;
  for (int h = 0; h < kHelpers; ++h) {
    helpers.emplace_back([&, h] {
      std::mt19937 random(static_cast<unsigned>(h));
      while (!stop) {
        if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        teams[random() % 2]->work(1 + static_cast<int>(random() % kHelpers));
        std::this_thread::yield();
      }
    });
  }
  std::atomic<int> wrong = 0;
  const auto caller = [&](int index) {
    std::mt19937 random(static_cast<unsigned>(100 + index));
    for (int round = 0; round < kRounds; ++round) {
      ThreadTeam& team = *teams[index];
      for (int taken = static_cast<int>(random() % kHelpers) + 1; taken > 0; --taken) team.take(calls[taken - 1]);
      const uint32_t sections = 1 + random() % 20;
      Count count(team.size(), sections);
      count.slow = static_cast<int>(random() % 8);
      team.run(&Count::job, &count, 0, sections);
      wrong += count.wrong();
      team.dismiss();
    }
  };
  std::thread other(caller, 1);
  caller(0);
  other.join();
  stop = true;
  for (std::thread& helper : helpers) helper.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gart::cpu
