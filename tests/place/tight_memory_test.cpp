// Problems in which hardly any placement fits.
#include <gtest/gtest.h>

#include "compiler/place/place.h"
#include "tests/place/driver/problem_json.h"

namespace gcg::place {
namespace {

// The least memory with which six groups can run: 2 of 1,920 placements fit, and both take longer than most.
constexpr const char* kTight = R"({"devices": [{"name": "d0", "memory": 650}, {"name": "d1", "memory": 650}],
  "links": [[0, 0], [1, 1], [1, 0], [0, 0]],
  "groups": [{"name": "g00000", "us": [1, 6], "weights": [0], "working": 10},
    {"name": "g00001", "us": [3, 10], "weights": [1], "working": 17},
    {"name": "g00002", "us": [56, 58], "weights": [2], "working": 8},
    {"name": "g00003", "us": [75, 135], "weights": [3, 5], "working": 2},
    {"name": "g00004", "us": [43, null], "weights": [4], "working": 6},
    {"name": "g00005", "us": [68, 87], "weights": [5], "working": 6}],
  "values": [{"bytes": 129, "producer": 0, "readers": [1]}, {"bytes": 8, "producer": 2, "readers": [3]},
    {"bytes": 93, "producer": 3, "readers": [4]},
    {"bytes": 63, "producer": 1, "readers": [], "wanted": true, "wanted_on": -1},
    {"bytes": 111, "producer": 4, "readers": [], "wanted": true, "wanted_on": -1},
    {"bytes": 78, "producer": 5, "readers": [], "wanted": true, "wanted_on": -1},
    {"bytes": 92, "producer": -1, "given": -1, "readers": [0]},
    {"bytes": 31, "producer": -1, "given": -1, "readers": [2]},
    {"bytes": 23, "producer": -1, "given": -1, "readers": [5]}],
  "weights": [165, 179, 78, 89, 194, 60]})";

TEST(TightMemory, TheOnlyPlacementsThatFitAreFound) {
  const Problem problem = problem_from(nlohmann::json::parse(kTight));
  for (uint64_t seed = 1; seed < 6; ++seed) {
    Options options;
    options.seed = seed;
    const Placed found = place(problem, options);
    ASSERT_TRUE(found.placement) << describe(problem, found.failure);
    EXPECT_EQ(found.us, 499);
    EXPECT_EQ(found.placement->device, (std::vector<int>{0, 1, 1, 1, 0, 1}));
  }
}

}  // namespace
}  // namespace gcg::place
