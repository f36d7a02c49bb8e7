#include "compiler/ir/dim.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <set>

#include "compiler/support/error.h"

namespace gcg {
namespace {

Dim d(const std::string& text) {
  const auto parsed = Dim::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Dim());
}

struct Equal {
  const char* left;
  const char* right;
};

class DimEquality : public testing::TestWithParam<Equal> {};
TEST_P(DimEquality, CanonicalFormsAgree) { EXPECT_EQ(d(GetParam().left).str(), d(GetParam().right).str()); }

INSTANTIATE_TEST_SUITE_P(Algebra, DimEquality,
                         testing::Values(Equal{"(s+1)*64", "64*s + 64"}, Equal{"s*t - t*s", "0"},
                                         Equal{"(a+b)*(a-b)", "a*a - b*b"}, Equal{"3*s - 2*s - s + 7", "7"}));
INSTANTIATE_TEST_SUITE_P(Quotients, DimEquality,
                         testing::Values(Equal{"(64*s)//64", "s"}, Equal{"(64*s + 5)//64", "s"},
                                         Equal{"(64*s + 64)//64", "s + 1"}, Equal{"(6*s)//4", "s + s//2"},
                                         Equal{"(s//3)//4", "s//12"}, Equal{"(s//3 + 1)//4", "(s + 3)//12"},
                                         Equal{"(b*s*768)//(12*s)", "64*b"}, Equal{"(b*s)//s", "b"},
                                         Equal{"(s*s + 2*s + 1)//(s + 1)", "s + 1"},
                                         Equal{"(s - 1)//2 + 1", "(s + 1)//2"}, Equal{"(s%7)//7", "0"},
                                         Equal{"s//(s + 1)", "0"}, Equal{"(-s)//(-t)", "s//t"},
                                         Equal{"(2*s + 1)//2", "s"}, Equal{"(4*s + 3)//8", "s//2"}));
INSTANTIATE_TEST_SUITE_P(Remainders, DimEquality,
                         testing::Values(Equal{"(64*s)%64", "0"}, Equal{"(64*s + 5)%64", "5"},
                                         Equal{"(6*s)%4", "2*(s%2)"}, Equal{"(s%12)%4", "s%4"}, Equal{"(s%4)%4", "s%4"},
                                         Equal{"(b*s + 3*s)%s", "0"}, Equal{"(4*s + 3)%8", "4*(s%2) + 3"}));
INSTANTIATE_TEST_SUITE_P(
    Extrema, DimEquality,
    testing::Values(Equal{"max(s,0)", "s"}, Equal{"max(s + 3,2)", "s + 3"}, Equal{"min(s,9223372036854775807)", "s"},
                    Equal{"max(s - t,-9223372036854775808)", "s - t"}, Equal{"max(s,max(t,s))", "max(t,s)"},
                    Equal{"max(max(s,t),u)", "max(s,max(t,u))"}, Equal{"min(s + 1,t + 1)", "min(s,t) + 1"},
                    Equal{"max(64*s,64*t)", "64*max(s,t)"}, Equal{"min(min(s,5),7)", "min(s,5)"},
                    Equal{"max(min(s,5),0)", "min(s,5)"}, Equal{"max(s - s//2,0)", "s - s//2"},
                    Equal{"max(s - min(s,2),0)", "s - min(s,2)"}, Equal{"min(s//2,s)", "s//2"}));
INSTANTIATE_TEST_SUITE_P(Names, DimEquality,
                         testing::Values(Equal{"'past length' + 1", "1 + 'past length'"},
                                         Equal{"max + min", "min + max"}));

TEST(Dim, BoundsSeeWhatTermsShare) {
  EXPECT_EQ(d("s - s//2").lower_bound(), 0);
  EXPECT_EQ(d("s").upper_bound(), std::nullopt);
  EXPECT_EQ(d("s%8 + 1").upper_bound(), 8);
  EXPECT_EQ(d("s - s%8").lower_bound(), 0);
  EXPECT_EQ(d("min(s,5) + 2").upper_bound(), 7);
  EXPECT_EQ(d("max(s,t) - s").lower_bound(), 0);
  EXPECT_EQ(d("s - t").lower_bound(), std::nullopt);
  EXPECT_EQ(d("b*max(s,4)").lower_bound(), 0);
}

TEST(Dim, EqualExpressionsShareTheirAtoms) {
  const Dim a = d("max(s//3, t) + s%7"), b = d("s%7 + max(t, s//3)");
  auto x = a.terms().begin(), y = b.terms().begin();
  for (; x != a.terms().end(); ++x, ++y) EXPECT_EQ(x->first, y->first) << "the same objects";
}

TEST(Dim, ADivisorThatMayBeZeroHasNoBounds) {
  // s % min(t,1) is 0 or undefined.
  EXPECT_EQ(floor_div(d("min(u,3) - 7"), d("s%min(t,1)")).upper_bound(), std::nullopt);
}

/// Finding bounds of sums of many nested quotients, maxima and minima must take limited time. Evaluation must compute
/// shared terms once.
TEST(Dim, WorkOnLargeExpressionsIsBounded) {
  Dim x = d("s"), sum;
  for (int i = 0; i < 60; ++i) {
    x = max(floor_div(x * Dim(2) + Dim(i), Dim(3)), x - Dim(5 * i)) + min(x, Dim(100 + i));
    sum = sum + x * floor_div(x + Dim(1), Dim(2));
  }
  EXPECT_NO_THROW(sum.lower_bound());
  EXPECT_NO_THROW(sum.upper_bound());
  EXPECT_EQ(sum.symbols(), std::set<std::string>{"s"});
  EXPECT_LT(sum.str().size(), 1000000U);
  EXPECT_NO_THROW(sum.substitute({{"s", Dim(1)}}));
  EXPECT_EQ(sum.substitute({{"s", Dim(0)}}), Dim(sum.evaluate({{"s", 0}})));
}

TEST(Dim, WhatGrowsBeyondMeasureIsRefused) {
  Dim sum;
  for (int i = 0; i < 100; ++i) sum = sum + Dim::symbol("s" + std::to_string(i));
  EXPECT_THROW(sum * sum, CompileError);
  EXPECT_FALSE(Dim::parse(std::string(500000, '(')));
  EXPECT_FALSE(Dim::parse(std::string(500000, '-') + "1"));
  EXPECT_TRUE(Dim::parse(std::string(500, '(') + "s" + std::string(500, ')')));
}

TEST(Dim, ParseRefusesWhatIsNoExpression) {
  for (const char* text : {"", "s +", "(s", "s//0", "max(s)+", "3 s", "s/2", "99999999999999999999", "s t", "'s"})
    EXPECT_FALSE(Dim::parse(text)) << text;
}

TEST(Dim, OverflowIsAnErrorNotAWrap) {
  const Dim big(std::numeric_limits<int64_t>::max());
  EXPECT_THROW(big + Dim(1), CompileError);
  EXPECT_THROW(big * Dim(2), CompileError);
  EXPECT_THROW(floor_div(Dim(std::numeric_limits<int64_t>::min()), Dim(-1)), CompileError);
  EXPECT_THROW(floor_div(Dim::symbol("s"), Dim(0)), CompileError);
  EXPECT_THROW(d("s*4").evaluate({{"s", std::numeric_limits<int64_t>::max()}}), CompileError);
}

TEST(Dim, SubstituteSimplifiesAgain) {
  EXPECT_EQ(d("(s + 3)//4 + max(s,t)").substitute({{"s", Dim(5)}, {"t", Dim(9)}}), Dim(11));
  EXPECT_EQ(d("s//t").substitute({{"s", d("64*t")}}), Dim(64));
}

/// A random expression, both as a Dim and as a directly evaluated number. Throws on a division by zero.
struct Random {
  std::mt19937 rng;
  SymbolValues values;

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(rng); }
  int64_t floor_quotient(int64_t a, int64_t b) {
    if (b == 0) throw std::domain_error("division by zero");
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
  }

  std::pair<Dim, int64_t> expression(int depth) {
    if (depth == 0 || below(6) == 0) {
      if (below(2) == 0) {
        const int64_t n = below(12) - 3;
        return {Dim(n), n};
      }
      auto it = values.begin();
      std::advance(it, below(static_cast<int64_t>(values.size())));
      return {Dim::symbol(it->first), it->second};
    }
    const auto [a, x] = expression(depth - 1);
    const auto [b, y] = expression(depth - 1);
    switch (below(7)) {
      case 0:
        return {a - b, x - y};
      case 1:
        return {a * b, x * y};
      case 2:
        return {floor_div(a, b), floor_quotient(x, y)};
      case 3:
        return {mod(a, b), x - floor_quotient(x, y) * y};
      case 4:
        return {max(a, b), std::max(x, y)};
      case 5:
        return {min(a, b), std::min(x, y)};
      default:
        return {a + b, x + y};
    }
  }
};

TEST(Dim, CanonicalFormHasTheValueOfTheExpression) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    Random random{std::mt19937(seed), {}};
    for (const char* name : {"s", "t", "u"}) random.values[name] = random.below(seed % 5 == 0 ? 200 : 9);
    try {
      const auto [dim, value] = random.expression(4);
      ASSERT_EQ(dim.evaluate(random.values), value) << dim.str() << " seed " << seed;
      ASSERT_LE(dim.lower_bound().value_or(value), value) << dim.str() << " seed " << seed;
      ASSERT_GE(dim.upper_bound().value_or(value), value) << dim.str() << " seed " << seed;
      const auto again = Dim::parse(dim.str());
      ASSERT_TRUE(again) << dim.str();
      ASSERT_EQ(again->str(), dim.str()) << "seed " << seed;
      std::map<std::string, Dim> numbers(random.values.begin(), random.values.end());
      ASSERT_EQ(dim.substitute(numbers), Dim(value)) << dim.str() << " seed " << seed;
      ++checked;
    } catch (const std::domain_error&) {
    } catch (const CompileError&) {  // a division by zero that the canonical form still contains, or overflow
    }
  }
  EXPECT_GT(checked, 4000);
}

}  // namespace
}  // namespace gcg
