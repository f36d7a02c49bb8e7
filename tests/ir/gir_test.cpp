#include "compiler/gir/gir.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/gir/verify_graph.h"
#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

TEST(Gir, InfersWhatIsNotWritten) {
  const Graph g = parse_graph(R"(
    graph mlp(%x: f32[batch,4]) -> (%y) {
      constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
      %h = MatMul(%x, %w)
      %y = Relu(%h)
    })");
  verify_graph(g);
  EXPECT_EQ(str(*g.value(g.outputs[0]).shape), "[batch,2]");
  EXPECT_EQ(g.node(g.value(g.outputs[0]).producer).name, "y");
}

TEST(Gir, StatesSurvive) {
  const std::string text = R"(graph g(%x: f32[2], %cache: f32[n,2], %w: f32[2], %v: f32[2]) -> (%y, %next, %w_next) {
  %y: f32[2] = Add(%x, %v)
  %next: f32[n,2] = Relu(%cache)
  %w_next: f32[2] = Add(%w, %x)
  state "cache" %cache -> %next {axis = 1, capacity = 8, in_place = 1}
  state "w" %w -> %w_next {scope = "program"}
  state "v" %v {scope = "program", initial = f32[2]{1, 2}}
}
)";
  EXPECT_EQ(print_graph(parse_graph(text)), text);
  const Graph g = parse_graph(text);
  verify_graph(g);
  EXPECT_EQ(g.states[0].scope, StateScope::session);
  EXPECT_TRUE(is_written(g.states[1]));
  EXPECT_FALSE(is_written(g.states[2]));
}

TEST(Gir, PrintingAndReadingIsExact) {
  const std::string text = R"(graph "odd name"(%x: f32[2*batch,s//2 + 1], %c: bool[], %"a b": ?) -> (%y, %n) {
  constant %k: f16[3] = {1.5, -0, inf}
  constant %b: bool[2] = {1, 0}
  constant %u: u64[1] = {18446744073709551615}
  %y: f32[max(s,t),4], _ = Dropout(%x, _, %c) {doubles = [1.0,0.1], empty = strings[], f = 1e-05, i = -3, ints = [1,2], none = floats[], quote = "a\"b", t = i8[2]{1, -1}, texts = ["p","q"]} @"node 7"
  %n: i64[2]{batch,7} = If(%c | %x, %k)
    graph then(%p: f32[?], %q: ?[3]) -> (%p) {
    }
    graph else(%p: f32[?], %q: ?) -> (%r) {
      %r: f32[] = Relu(%p)
    }
  assume batch == 2*s "why \"so\""
}
)";
  const std::string printed = print_graph(parse_graph(text));
  EXPECT_EQ(print_graph(parse_graph(printed)), printed);
  for (const char* part :
       {"%y: f32[max(s,t),4], _ = Dropout(%x, _, %c)", "f = 1e-05", "empty = strings[]", "@\"node 7\"",
        "t = i8[2]{1, -1}", "quote = \"a\\\"b\"", "= If(%c | %x, %k)", "assume batch == 2*s \"why \\\"so\\\"\"",
        "{1.5, -0, inf}", "graph \"odd name\"", "%q: ?[3]", "%\"a b\": ?"})
    EXPECT_NE(printed.find(part), std::string::npos) << part << " is missing in\n" << printed;
}

TEST(Gir, LargeDataAndNanSurviveBitForBit) {
  Graph g;
  g.name = "g";
  Tensor large(DType::f32, {100}), nan(DType::f32, {1});
  for (int64_t i = 0; i < 100; ++i) large.set_double(i, std::sin(static_cast<double>(i)));
  const uint32_t payload = 0x7fc12345;
  std::memcpy(nan.mutable_data(), &payload, sizeof payload);
  g.outputs = {g.add_constant("large", large), g.add_constant("nan", nan)};
  const Graph again = parse_graph(print_graph(g));
  for (size_t i = 0; i < 2; ++i) {
    const Tensor &a = *g.value(g.outputs[i]).constant, &b = *again.value(again.outputs[i]).constant;
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0);
  }
}

TEST(Gir, ElidedDataIsForReadingOnly) {
  const Graph g = parse_graph("graph g() -> (%c) { constant %c: f32[1000] = random(3) }");
  const std::string text = print_graph(g, GirData::elided);
  EXPECT_LT(text.size(), 200u);
  EXPECT_THROW(parse_graph(text), CompileError);
}

TEST(Gir, RandomDataIsDeterministicAndInRange) {
  const Graph g =
      parse_graph("graph g() -> (%c, %i) { constant %c: f32[50] = random(3) constant %i: u8[50] = random(3) }");
  double least = 1, most = -1;
  for (int64_t i = 0; i < 50; ++i) {
    least = std::min(least, g.value(g.outputs[0]).constant->at_double(i));
    most = std::max(most, g.value(g.outputs[0]).constant->at_double(i));
    EXPECT_LT(g.value(g.outputs[1]).constant->at_int(i), 16);
  }
  EXPECT_GE(least, -1);
  EXPECT_LT(most, 1);
  EXPECT_GT(most - least, 1);
}

struct Mistake {
  const char* text;
  const char* message;
};
class GirMistake : public testing::TestWithParam<Mistake> {};
TEST_P(GirMistake, IsNamedWithItsPlace) {
  try {
    parse_graph(GetParam().text);
    FAIL() << "was read: " << GetParam().text;
  } catch (const CompileError& e) {
    EXPECT_STREQ(e.what(), GetParam().message);
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, GirMistake,
    testing::Values(
        Mistake{"graph g(%x: f32[2]) -> (%y) {\n  %y = Relu(%z)\n}", "gir: line 2, column 15: %z is not defined"},
        Mistake{"graph g(%x: f33[2]) -> (%x) {}", "gir: line 1, column 16: 'f33' is not an element type"},
        Mistake{"graph g(%x: f32[2 3]) -> (%x) {}", "gir: line 1, column 17: '2 3' is not an extent"},
        Mistake{"graph g() -> (%y) {\n  %y = Frob()\n}", "gir: line 2, column 12: there is no operator Frob"},
        Mistake{"graph g(%x: f32[2]) -> (%x) {\n  %x = Relu(%x)\n}", "gir: line 2, column 5: %x is defined twice"},
        Mistake{"graph g() -> (%c) { constant %c: f32[3] = {1, 2} }",
                "gir: line 1, column 48: expected ',', found '}'"},
        Mistake{"graph g() -> () { } more", "gir: line 1, column 21: text after the end of the graph"},
        Mistake{"graph g() -> (", "gir: line 1, column 15: expected '%', found the end"},
        Mistake{"graph g() -> (%c) { constant %c: i32[1] = {1.5} }",
                "gir: line 1, column 47: an element of an integer tensor has a fraction"}));

}  // namespace
}  // namespace gcg
