// Lanes against their definition: no lane idles while one of its groups is ready.
#include "compiler/place/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/place/simulate.h"

namespace gcg::place {
namespace {

/// Adds a value from one group to another.
void connect(Problem& p, int from, int to, int64_t bytes) {
  p.values.push_back({bytes, from, kAnywhere, {to}});
  p.groups[static_cast<size_t>(from)].outputs.push_back(static_cast<int>(p.values.size()) - 1);
  p.groups[static_cast<size_t>(to)].inputs.push_back(static_cast<int>(p.values.size()) - 1);
}

TEST(Lanes, TakeWhatIsReady) {
  Problem p;
  p.devices = {{"a"}, {"b"}};
  p.links.resize(4);
  for (const char* name : {"slow", "waits", "ready"}) p.groups.push_back({name, {10, 10}, {}, 0, {}, {}});
  connect(p, 0, 1, 0);
  const Placement placed = {{1, 0, 0}, {0, 1, 2}};
  EXPECT_EQ(simulate(p, placed).us, 30);
  const Placement run = as_lanes_run(p, placed);
  EXPECT_EQ(run.device, placed.device);
  EXPECT_LT(std::find(run.order.begin(), run.order.end(), 2), std::find(run.order.begin(), run.order.end(), 1));
  EXPECT_EQ(simulate(p, run).us, 20);
}

TEST(Lanes, NoneIdlesWhileAGroupIsReady) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    Problem p;
    const int devices = 1 + static_cast<int>(random() % 3), groups = 1 + static_cast<int>(random() % 20);
    for (int d = 0; d < devices; ++d) p.devices.push_back({"d" + std::to_string(d)});
    for (int l = 0; l < devices * devices; ++l) p.links.push_back({1.0 + static_cast<double>(random() % 4), 1});
    Placement placed;
    for (int g = 0; g < groups; ++g) {
      p.groups.push_back({"g" + std::to_string(g), {}, {}, 0, {}, {}});
      for (int d = 0; d < devices; ++d) p.groups.back().us.push_back(1 + static_cast<double>(random() % 9));
      placed.device.push_back(static_cast<int>(random() % static_cast<unsigned>(devices)));
      placed.order.push_back(g);
      for (int from = 0; from < g; ++from)
        if (random() % 4 == 0) connect(p, from, g, static_cast<int64_t>(random() % 8));
    }
    const Placement run = as_lanes_run(p, placed);
    const Timeline t = simulate(p, run);
    for (int g = 0; g < groups; ++g) {
      double ready = 0;
      for (int v : p.groups[static_cast<size_t>(g)].inputs) {
        const int from = p.values[static_cast<size_t>(v)].producer;
        double there = t.end[static_cast<size_t>(from)];
        for (const Transfer& transfer : t.transfers)
          if (transfer.value == v && transfer.to == placed.device[static_cast<size_t>(g)]) there = transfer.end;
        ready = std::max(ready, there);
      }
      // From `ready` until the group begins, its device must work without a gap, on groups that come earlier in the
      // order or began earlier.
      double busy = ready;
      for (bool more = true; more;) {
        more = false;
        for (int o = 0; o < groups; ++o)
          if (o != g && placed.device[static_cast<size_t>(o)] == placed.device[static_cast<size_t>(g)] &&
              t.begin[static_cast<size_t>(o)] <= busy && t.end[static_cast<size_t>(o)] > busy)
            busy = t.end[static_cast<size_t>(o)], more = true;
      }
      EXPECT_LE(t.begin[static_cast<size_t>(g)], busy + 1e-9) << "round " << round << ", group " << g;
    }
  }
}

}  // namespace
}  // namespace gcg::place
