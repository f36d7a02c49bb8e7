// The simulator: hand-made examples for one rule each.
#include "compiler/place/simulate.h"

#include <gtest/gtest.h>

#include "compiler/place/lanes.h"
#include "tests/place/driver/problem_json.h"

namespace gcg::place {
namespace {

Problem problem(const char* text) { return problem_from(nlohmann::json::parse(text)); }

TEST(Simulate, AGroupWaitsForTransferOfItsInput) {
  // Group 0 feeds group 1 on another device: 10 us, then 2 us of latency and 30 bytes at 10 bytes/us, then 20 us.
  const Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[10,2],[10,2],[0,0]],
    "groups": [{"us": [10, 10]}, {"us": [20, 20]}], "values": [{"bytes": 30, "producer": 0, "readers": [1]}]})");
  EXPECT_EQ(simulate(p, {{0, 0}, {0, 1}}).us, 30);
  const Timeline t = simulate(p, {{0, 1}, {0, 1}});
  EXPECT_EQ(t.us, 35);
  ASSERT_EQ(t.transfers.size(), 1U);
  EXPECT_EQ(t.transfers[0].begin, 10);
  EXPECT_EQ(t.transfers[0].end, 15);
  EXPECT_EQ(t.busy_us, (std::vector<double>{10, 20}));
}

/// Groups 0 and 2 run on a, group 1 on b. A device wakes late if it has waited longer than its thread spins; b waits
/// from the beginning.
TEST(Simulate, ADeviceThatHasWaitedForLongIsWoken) {
  Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[1,0],[0,0]],
    "groups": [{"us": [40, 40]}, {"us": [20, 20]}, {"us": [5, 5]}],
    "values": [{"bytes": 0, "producer": 0, "readers": [1]}, {"bytes": 0, "producer": 1, "readers": [2]}]})");
  EXPECT_EQ(simulate(p, {{0, 1, 0}, {0, 1, 2}}).us, 65);
  for (Device& d : p.devices) d.spins_us = 30, d.wakes_us = 25;
  EXPECT_EQ(simulate(p, {{0, 0, 0}, {0, 1, 2}}).us, 65) << "it always has something to do";
  EXPECT_EQ(simulate(p, {{0, 1, 0}, {0, 1, 2}}).us, 40 + 25 + 20 + 25 + 5) << "a has waited for 45 us";
  p.groups[0].us = {10, 10};
  EXPECT_EQ(simulate(p, {{0, 1, 0}, {0, 1, 2}}).us, 10 + 20 + 5) << "both still spin";
}

/// Group 0 runs on a, groups 1 and 2 on b. A value is in the reader's caches if the reader made it, and not if another
/// device with the same memory made it.
TEST(Simulate, WhatReadsAnotherDevicesValueTakesLonger) {
  Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[0,0],[0,0],[0,0]],
    "groups": [{"us": [40, 40]}, {"us": [20, 20]}, {"us": [5, 5]}],
    "values": [{"bytes": 8, "producer": 0, "readers": [1]}, {"bytes": 8, "producer": 1, "readers": [2]}]})");
  p.groups[1].crossing_us = {1, 3};
  p.groups[2].crossing_us = {1, 1};
  EXPECT_EQ(simulate(p, {{0, 0, 0}, {0, 1, 2}}).us, 65);
  EXPECT_EQ(simulate(p, {{0, 1, 1}, {0, 1, 2}}).us, 68);
  EXPECT_EQ(as_lanes_run(p, {{0, 1, 1}, {0, 1, 2}}).order, (std::vector<int>{0, 1, 2}));
  p.links[1].us = 10;
  EXPECT_EQ(simulate(p, {{0, 1, 1}, {0, 1, 2}}).us, 75) << "the link brings it there";
}

TEST(Simulate, OneTensorForTwoReadersOfADeviceIsSentOnce) {
  const Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[1,0],[0,0]],
    "groups": [{"us": [10, 10]}, {"us": [1, 1]}, {"us": [1, 1]}],
    "values": [{"bytes": 30, "producer": 0, "readers": [1, 2]}]})");
  const Timeline t = simulate(p, {{0, 1, 1}, {0, 1, 2}});
  EXPECT_EQ(t.transfers.size(), 1U);
  EXPECT_EQ(t.us, 42);
}

TEST(Simulate, ALinkServesOneTransferAtATimeTheFirstReadFirst) {
  const char* text = R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[1,0],[0,0]],
    "groups": [{"us": [10, 10]}, {"us": [1, 1]}, {"us": [50, 50]}], "links_queue": %,
    "values": [{"bytes": 30, "producer": 0, "readers": [1]}, {"bytes": 40, "producer": 0, "readers": [2]}]})";
  std::string queued = text, free = text;
  queued.replace(queued.find('%'), 1, "true");
  free.replace(free.find('%'), 1, "false");
  const Timeline t = simulate(problem(queued.c_str()), {{0, 1, 1}, {0, 2, 1}});
  EXPECT_EQ(t.begin[2], 50);  // 10 + 40
  EXPECT_EQ(t.begin[1], 100);
  EXPECT_EQ(t.transfers[0].value, 1);
  EXPECT_EQ(t.transfers[1].end, 80);
  EXPECT_EQ(simulate(problem(free.c_str()), {{0, 1, 1}, {0, 1, 2}}).begin[1], 40);
}

TEST(Simulate, DirectionsOfALinkDoNotWaitForEachOther) {
  const Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[2,0],[0,0]],
    "groups": [{"us": [10, 10]}, {"us": [10, 10]}, {"us": [1, 1]}, {"us": [1, 1]}],
    "values": [{"bytes": 30, "producer": 0, "readers": [2]}, {"bytes": 30, "producer": 1, "readers": [3]}]})");
  const Timeline t = simulate(p, {{0, 1, 1, 0}, {0, 1, 2, 3}});
  EXPECT_EQ(t.begin[2], 40);
  EXPECT_EQ(t.begin[3], 25);
}

TEST(Simulate, GivenAndWantedValuesTravel) {
  const Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[1,5],[0,0]],
    "groups": [{"us": [10, 4]}],
    "values": [{"bytes": 8, "given": 0, "readers": [0]}, {"bytes": 6, "producer": 0, "wanted": true, "wanted_on": 0}]})");
  EXPECT_EQ(simulate(p, {{0}, {0}}).us, 10);
  EXPECT_EQ(simulate(p, {{1}, {0}}).us, 8 + 4 + 5 + 6);
}

TEST(Simulate, WeightsStayAndValuesLieForTheirIntervals) {
  const Problem p = problem(R"({"devices": [{"name": "a"}], "links": [[0,0]], "weights": [100, 1000],
    "groups": [{"us": [10], "weights": [0]}, {"us": [10], "weights": [0, 1], "working": 7}, {"us": [10]}],
    "values": [{"bytes": 20, "producer": 0, "readers": [1]}, {"bytes": 30, "producer": 1, "readers": [2]},
               {"bytes": 40, "producer": 2, "wanted": true}]})");
  const Timeline t = simulate(p, {{0, 0, 0}, {0, 1, 2}});
  EXPECT_EQ(t.weight_bytes, (std::vector<int64_t>{1100}));          // the shared weight counts once
  EXPECT_EQ(t.peak_bytes, (std::vector<int64_t>{1100 + 30 + 40}));  // the first value has been released by then
}

TEST(Simulate, ATransferTakesMemoryOnBothSides) {
  const Problem p = problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[1,0],[0,0]],
    "groups": [{"us": [10, 10]}, {"us": [5, 5]}, {"us": [2, 2]}],
    "values": [{"bytes": 20, "producer": 0, "readers": [2]}, {"bytes": 3, "producer": 1, "readers": [2]}]})");
  const Timeline t = simulate(p, {{0, 0, 1}, {0, 1, 2}});  // 3 bytes are allocated while 20 are in transfer
  EXPECT_EQ(t.peak_bytes, (std::vector<int64_t>{23, 23}));
}

/// 0 -> 1 and 2 -> 3; 1 runs after 2.
Problem two_chains() {
  return problem(R"({"devices": [{"name": "a"}, {"name": "b"}], "links": [[0,0],[1,0],[1,0],[0,0]],
    "groups": [{"us": [10, 10]}, {"us": [20, 20]}, {"us": [5, 5]}, {"us": [1, 1]}],
    "values": [{"bytes": 3, "producer": 0, "readers": [1]}, {"bytes": 4, "producer": 2, "readers": [3]}]})");
}

TEST(Simulate, ARunThatTakesLongerThanItMayTakesForever) {
  const Problem p = two_chains();
  Simulator simulator(p);
  const Placement placement{{0, 0, 0, 1}, {0, 2, 1, 3}};
  EXPECT_EQ(simulator.cost(placement, 35).us, 35);
  EXPECT_EQ(simulator.share(), 1);
  EXPECT_EQ(simulator.cost(placement, 34).us, kUnsupported);
  EXPECT_EQ(simulator.share(), 0.5);  // after 0 and 2 ran, it is known that 1 exceeds the limit
  EXPECT_EQ(simulator.cost(placement, 29).us, kUnsupported);
  EXPECT_EQ(simulator.share(), 0);  // known before any group runs: 1 takes 20 us and waits for 0
}

TEST(Simulate, TheEndOfTheRunWaitsForTheCriticalPath) {
  const Problem p = two_chains();
  Simulator simulator(p);
  std::vector<int> path;
  const Placement one{{0, 0, 0, 1}, {0, 2, 1, 3}};
  simulator.cost(one);
  simulator.critical_path(one, path);
  EXPECT_EQ(path, (std::vector<int>{1, 2, 0}));
  const Placement other{{0, 1, 1, 1}, {0, 2, 1, 3}};
  simulator.cost(other);
  simulator.critical_path(other, path);
  EXPECT_EQ(path, (std::vector<int>{3, 1, 0}));  // 1 waits for the value of 0, not for 2
}

}  // namespace
}  // namespace gcg::place
