#include "compiler/partition/needed.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/partition/cpu_time.h"

namespace gcg::test {
namespace {

struct Letters {
  std::string items = "xabfcg";
  std::vector<std::string> before = {"", "x", "a", "bc", "a", "c"};
  std::string done = "xa";

  std::string needed_for(char wanted) {
    const auto is_done = [&](int i) { return done.find(items[static_cast<size_t>(i)]) != std::string::npos; };
    const auto each_before = [&](int i, const auto& see) {
      for (char c : before[static_cast<size_t>(i)]) see(static_cast<int>(items.find(c)));
    };
    std::string found;
    for (int i : needed(static_cast<int>(items.size()), {static_cast<int>(items.find(wanted))}, is_done, each_before))
      found += items[static_cast<size_t>(i)];
    done += found;
    return found;
  }
};

// x->a->b->f, a->c->f, c->g
TEST(Needed, WhatIsNotDone) {
  Letters graph;
  EXPECT_EQ(graph.needed_for('f'), "fbc") << "g is not";
  EXPECT_EQ(graph.needed_for('f'), "") << "asked again";
  EXPECT_EQ(graph.needed_for('g'), "g");
}

double milliseconds_of(int count) {
  const auto each_before = [](int i, const auto& see) {
    for (int j : {i - 1, i - 7, i / 2})
      if (j >= 0 && j < i) see(j);
  };
  return cpu_milliseconds(
      [&] {
        EXPECT_EQ(static_cast<int>(needed(count, {count - 1}, [](int) { return false; }, each_before).size()), count);
      },
      5);
}

TEST(Needed, TwiceTheNodesTakeTwiceTheTime) {
  const double one = milliseconds_of(100'000), two = milliseconds_of(200'000);
  std::printf("100,000 nodes %.2f ms, 200,000 %.2f ms\n", one, two);
  EXPECT_LE(two, 2.2 * one + 2);
}

}  // namespace
}  // namespace gcg::test
