// Registers every case of the *.plan files in this folder as a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tests/plan/plan_text.h"

namespace gcg::test {
namespace {

class PlanTest : public testing::Test {
 public:
  explicit PlanTest(PlanCase c) : case_(std::move(c)) {}
  void TestBody() override { run_plan_case(case_); }

 private:
  PlanCase case_;
};

std::string identifier(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

const bool registered = [] {
  for (const PlanCase& c : read_plan_cases(GCC_GRAPH_SOURCE_DIR "/tests/plan"))
    testing::RegisterTest(identifier(c.file).c_str(), identifier(c.name).c_str(), nullptr, nullptr, __FILE__, c.line,
                          [c]() -> testing::Test* { return new PlanTest(c); });
  return true;
}();

TEST(PlanCases, AreThere) { EXPECT_TRUE(registered); }

}  // namespace
}  // namespace gcg::test
