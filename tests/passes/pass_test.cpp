// Registers every case of the *.gir files in this folder as a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tests/passes/pass_case.h"

namespace gcg::test {
namespace {

class GirCase : public testing::Test {
 public:
  explicit GirCase(PassCase c) : case_(std::move(c)) {}
  void TestBody() override { run_case(case_); }

 private:
  PassCase case_;
};

std::string identifier(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

const bool registered = [] {
  for (const PassCase& c : read_cases(GCC_GRAPH_SOURCE_DIR "/tests/passes"))
    testing::RegisterTest(identifier(c.file).c_str(), identifier(c.name).c_str(), nullptr, nullptr, __FILE__, c.line,
                          [c]() -> testing::Test* { return new GirCase(c); });
  return true;
}();

}  // namespace
}  // namespace gcg::test
