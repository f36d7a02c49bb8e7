#include "compiler/passes/tabulate_bytes.h"

#include <gtest/gtest.h>

#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

TEST(TabulateBytes, AFunctionOfOneByteIsATable) {
  const Graph after = check_rewrite(R"(graph g(%x: u8[n,3]) -> (%y) {
    constant %s: f32[] = {0.05}
    constant %z: u8[] = {128}
    constant %t: f32[] = {0.00390625}
    constant %u: u8[] = {0}
    %a = DequantizeLinear(%x, %s, %z)
    %b = Sigmoid(%a)
    %y = QuantizeLinear(%b, %t, %u)
  })",
                                    tabulate_bytes, true, {{"n", 50}});
  EXPECT_EQ(op_counts(after).at("gart.LookUp"), 1);
  EXPECT_EQ(op_counts(after).count("QuantizeLinear"), 0u);
}

/// x * sigmoid(x), where the sigmoid's result is stored in bytes.
TEST(TabulateBytes, BytesOnTheWayThatTheFirstDeterminesAreNoneOfTheirOwn) {
  const Graph after = check_rewrite(R"(graph g(%x: i8[n,3]) -> (%y) {
    constant %s: f32[] = {0.05}
    constant %z: i8[] = {-3}
    %a = DequantizeLinear(%x, %s, %z)
    %b = Sigmoid(%a)
    %q = QuantizeLinear(%b, %s, %z)
    %c = DequantizeLinear(%q, %s, %z)
    %m = Mul(%a, %c)
    %y = QuantizeLinear(%m, %s, %z)
  })",
                                    tabulate_bytes, true, {{"n", 50}});
  EXPECT_EQ(op_counts(after), (Counts{{"gart.LookUp", 1}}));
}

TEST(TabulateBytes, TwoBytesAScaleForEachChannelAndCheapArithmeticStay) {
  check_rewrite(R"(graph g(%x: u8[n,3], %v: u8[n,3]) -> (%y, %w, %r) {
    constant %s: f32[] = {0.05}
    constant %each: f32[3] = {0.05, 0.1, 0.2}
    constant %z: u8[] = {128}
    %a = DequantizeLinear(%x, %s, %z)
    %b = DequantizeLinear(%v, %s, %z)
    %c = Sigmoid(%a)
    %d = Mul(%c, %b)
    %y = QuantizeLinear(%d, %s, %z)
    %e = Mul(%c, %each)
    %w = QuantizeLinear(%e, %s, %z)
    %f = Add(%a, %a)
    %r = QuantizeLinear(%f, %s, %z)
  })",
                tabulate_bytes, false, {{"n", 5}});
}

}  // namespace
}  // namespace gcg::test
