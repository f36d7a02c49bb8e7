// States in which each run replaces some rows in place.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>

#include "tests/states/stateful.h"

namespace gart {
namespace {

using test::floats;
using test::loaded;
using test::state;
using test::view;

/// A graph that scatters rows into a cache of `room` rows, from row `first` of each sample on, and returns the cache's
/// row 1.
std::string updating(int64_t room, const std::string& more = "") {
  const std::string cache = "f32[2," + std::to_string(room) + ",4]";
  return "graph updating(%x: f32[2,n,4], %first: i64[2], %cache: " + cache + ") -> (%y, %next" +
         (more.empty() ? "" : ", %old") + ") {\n  %next = TensorScatter(%cache, %x, %first) {axis = 1}\n" + more +
         "  constant %one: i64[] = {1}\n  %y = Gather(%next, %one) {axis = 1}\n}";
}

const std::vector<std::string> kCache = {"cache=next"};

Result<std::vector<Tensor>> run(const Session& session, const std::vector<float>& x,
                                const std::vector<int64_t>& first) {
  const auto rows = static_cast<int64_t>(x.size() / 8);
  return session.run({view(x, {2, rows, 4}), TensorView{first.data(), DType::i64, Shape{2}, "cpu"}});
}

std::vector<float> numbers(size_t count, float from) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = from + float(i);
  return out;
}

TEST(UpdatedStates, KeepTheOtherRows) {
  for (const char* more : {"", "  %old = Neg(%cache)\n"}) {  // another reader of the old value requires a copy
    for (const int threads : {1, 2}) {
      const Program program = loaded(updating(9, more), kCache, 0, threads);
      const Session session = *program.new_session();
      std::vector<float> want(2 * 9 * 4, 0.0F);
      const std::vector<std::vector<int64_t>> firsts = {{0, 3}, {7, 1}, {1, 1}, {8, 0}};
      for (size_t i = 0; i < firsts.size(); ++i) {
        const int64_t rows = i < 2 ? 2 : 1;
        const std::vector<float> x = numbers(size_t(rows) * 8, float(100 * i + 1));
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t j = 0; j < rows * 4; ++j)
            want[size_t((b * 9 + firsts[i][size_t(b)]) * 4 + j)] = x[size_t(b * rows * 4 + j)];
        const auto out = run(session, x, firsts[i]);
        ASSERT_TRUE(out) << out.error().message;
        EXPECT_EQ(state(session, "cache"), want);
        EXPECT_EQ(floats(out->at(0)),
                  (std::vector<float>{want[4], want[5], want[6], want[7], want[40], want[41], want[42], want[43]}));
      }
    }
  }
}

TEST(UpdatedStates, CostWhatTheirRowsCost) {
  const std::vector<float> x = numbers(8, 1);
  const auto time_of = [&](int64_t room) {
    const Session session = *loaded(updating(room), kCache).new_session();
    auto best = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 30; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(run(session, x, {i, room - 1 - i}));
      best = std::min(best, std::chrono::steady_clock::now() - begin);
    }
    return best;
  };
  const auto small = time_of(64), large = time_of(int64_t{2} << 20);  // 2 KB and 64 MB
  EXPECT_LT(large, 10 * small + std::chrono::microseconds(200)) << "64 MB take several milliseconds to copy";
}

/// Counts the pages of this process that `work` writes: a child process that shares all memory makes each first write
/// to a page a fault.
int64_t pages_written(const std::function<void()>& work) {
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_minflt};
  };
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  const int64_t before = faults();
  work();
  const int64_t written = faults() - before;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return written;
}

TEST(UpdatedStates, OneRowOfAGibibyteMovesOneRow) {
  const std::vector<float> x = numbers(8, 1);
  const auto pages_of = [&](int64_t room, const std::string& more) {
    const Session session = *loaded(updating(room, more), kCache).new_session();
    const auto step = [&] { EXPECT_TRUE(run(session, x, {room / 2, room - 1})); };
    step();
    return pages_written(step);
  };
  EXPECT_LT(pages_of(int64_t{1} << 25, ""), 100);  // a copy writes 262,144 pages
  // Checks that the count detects a copy: another reader of the old value requires one.
  EXPECT_GT(pages_of(int64_t{1} << 19, "  %old = Neg(%cache)\n"), 2 * 4096);
}

TEST(UpdatedStates, AFailedRunIsNotForgotten) {
  const Program program = loaded(updating(9), kCache);
  const Session session = *program.new_session();
  const std::vector<float> x = numbers(8, 1);
  ASSERT_TRUE(run(session, x, {0, 0}));
  const auto outside = run(session, x, {2, 9});
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().message.find("9"), std::string::npos) << outside.error().message;
  const std::string torn = "state 'cache' is half changed by a failed run: set or reset it";
  for (const Error& error :
       {run(session, x, {0, 0}).error(), session.state("cache").error(), run(*session.fork(), x, {0, 0}).error()})
    EXPECT_EQ(error.message, torn);
  const std::vector<float> value(2 * 9 * 4, 3.0F);
  ASSERT_TRUE(session.set_state("cache", view(value, {2, 9, 4})));
  EXPECT_EQ(state(session, "cache"), value);
  ASSERT_FALSE(run(session, x, {-1, 0}));
  ASSERT_TRUE(session.reset());
  ASSERT_TRUE(run(session, x, {0, 0}));
  EXPECT_EQ(state(session, "cache")[4], 0);
}

}  // namespace
}  // namespace gart
