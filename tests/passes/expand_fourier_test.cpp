#include "compiler/passes/expand_fourier.h"

#include <gtest/gtest.h>

#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

const std::map<std::string, int64_t> kSizes = {{"b", 2}, {"n", 23}, {"w", 4}};

Graph check(const std::string& inputs, const std::string& node, bool changes = true) {
  return check_rewrite("graph g(" + inputs + R"() -> (%y) {
    constant %four: i64[] = {4}
    constant %seven: i64[] = {7}
    constant %zero: i64[] = {0}
    constant %hann: f32[6] = random(1)
    %y = )" + node + "\n}\n",
                       expand_fourier, changes, kSizes);
}

TEST(ExpandFourier, OneProductForEveryForm) {
  for (const char* form : {"inverse = 0", "onesided = 1", "inverse = 1", "inverse = 1, onesided = 1"}) {
    for (const char* parts : {"1", "2"}) {
      const auto dft = [&](const std::string& shape, const std::string& rest) {
        const Graph g = check("%x: f32[" + shape + "," + parts + "]", "DFT(%x" + rest + ") {" + form + "}");
        EXPECT_EQ(op_counts(g).at("MatMul"), 1);
      };
      dft("b,6", "");
      dft("b,6", ", %four");
      dft("b,6", ", %seven");
      dft("6,b,3", ", %seven, %zero");
    }
  }
}

TEST(ExpandFourier, LongLinesAreTwoShortProducts) {
  for (const char* shape : {"b,64,1", "b,64,2", "2,b,90,2", "b,100,1"})
    for (const char* form : {"inverse = 0", "inverse = 1"}) {
      const Graph g = check("%x: f32[" + std::string(shape) + "]", "DFT(%x) {" + std::string(form) + "}");
      EXPECT_EQ(op_counts(g).at("MatMul"), 2);
    }
  const Graph half = check("%x: f32[b,150,1]", "DFT(%x) {onesided = 1}");
  EXPECT_EQ(op_counts(half).at("MatMul"), 2);
  const Graph prime = check("%x: f32[b,101,1]", "DFT(%x)");
  EXPECT_EQ(op_counts(prime).at("MatMul"), 1);
}

TEST(ExpandFourier, FramesOfASignal) {
  for (const char* signal : {"%x: f32[b,n]", "%x: f32[b,n,1]", "%x: f32[b,n,2]"}) {
    for (const char* form : {"onesided = 1", "onesided = 0"}) {
      for (const char* rest : {"%hann", "_, %seven", "%w"}) {
        const Graph g =
            check(std::string(signal) + ", %w: f32[5]", std::string("STFT(%x, %four, ") + rest + ") {" + form + "}");
        EXPECT_EQ(op_counts(g).at("MatMul"), 1);
      }
    }
  }
}

TEST(ExpandFourier, TwoDimensionsAreTwoProducts) {
  const Graph g = check_rewrite(R"(graph g(%x: f32[b,4,6,1]) -> (%y) {
    constant %one: i64[] = {1}
    %rows = DFT(%x)
    %y = DFT(%rows, _, %one)
  })",
                                expand_fourier, true, kSizes);
  EXPECT_EQ(op_counts(g).at("MatMul"), 2);
}

TEST(ExpandFourier, OpenLengthsAreProductsUpToABound) {
  for (const char* form : {"inverse = 0", "onesided = 1", "inverse = 1"}) {
    for (const char* shape : {"b,n,1", "b,n,2", "n,b,3,2"}) {
      const std::string axis = shape[0] == 'n' ? ", _, %zero" : "";
      const Graph g = check("%x: f32[" + std::string(shape) + "]", "DFT(%x" + axis + ") {" + form + "}");
      EXPECT_EQ(op_counts(g).at("If"), 1);
    }
  }
  const std::string text = "graph g(%x: f32[1,n,1]) -> (%y) { %y = DFT(%x) }";
  check_rewrite(text, expand_fourier, true, {{"n", 1100}});
}

TEST(ExpandFourier, LeavesWhatIsTooLargeOrNotKnown) {
  check("%x: f32[b,n,1]", "DFT(%x) {inverse = 1, onesided = 1}", false);
  check("%x: f32[1,n,1]", "DFT(%x, %four)", false);
  check("%x: f32[1,5003,1]", "DFT(%x)", false);
  check("%x: f32[1,n,1], %w: f32[w]", "STFT(%x, %four, %w)", false);
}

}  // namespace
}  // namespace gcg::test
