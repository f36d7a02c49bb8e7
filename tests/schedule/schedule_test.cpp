// Registers every case of the *.gir files in this folder as a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"
#include "compiler/support/unsupported.h"
#include "tests/schedule/schedule_case.h"

namespace gcg::test {
namespace {

class ScheduleTest : public testing::Test {
 public:
  explicit ScheduleTest(ScheduleCase c) : case_(std::move(c)) {}
  void TestBody() override { run_schedule_case(case_); }

 private:
  ScheduleCase case_;
};

std::string identifier(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

const bool registered = [] {
  for (const ScheduleCase& c : read_schedule_cases(GCC_GRAPH_SOURCE_DIR "/tests/schedule"))
    testing::RegisterTest(identifier(c.file).c_str(), identifier(c.name).c_str(), nullptr, nullptr, __FILE__, c.line,
                          [c]() -> testing::Test* { return new ScheduleTest(c); });
  return true;
}();

TEST(Unsupported, EveryNodeIsReportedOnce) {
  EXPECT_TRUE(registered);
  Graph graph = parse_graph(R"(graph g(%x: f32[n,3]) -> (%y, %u) {
    %i = NonZero(%x) @"where"
    %y = Transpose(%i) {perm = [1,0]} @"turn"
    %u = Unique(%x) @"distinct"
  })");
  infer_graph(graph);
  try {
    make_plan(graph);
    FAIL() << "nothing was reported";
  } catch (const UnsupportedModel& e) {
    std::vector<std::string> names;
    for (const UnsupportedNode& n : e.nodes()) names.push_back(n.name);
    EXPECT_EQ(names, (std::vector<std::string>{"where", "distinct"})) << e.what();
    EXPECT_NE(e.nodes().back().why.find("no kernel"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace gcg::test
