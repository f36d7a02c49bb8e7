// The choice of the next token, compared with plain implementations of the definitions.
#include "runtime/generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "runtime/errors.h"
#include "runtime/generate/exact_math.h"

namespace gart::detail {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> out(count);
  for (float& x : out) x = normal(random);
  return out;
}

/// The tokens that remain after the options are applied one after the other to sorted probabilities.
std::set<int64_t> kept(const std::vector<float>& logits, const GenerateOptions& o) {
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return logits[a] > logits[b]; });
  if (o.top_k > 0 && o.top_k < int64_t(order.size())) order.resize(size_t(o.top_k));
  std::vector<double> p;
  for (const int64_t id : order) p.push_back(std::exp((double(logits[id]) - logits[order[0]]) / o.temperature));
  const double all = std::accumulate(p.begin(), p.end(), 0.0);
  std::set<int64_t> out;
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && o.top_p < 1 && sum >= double(o.top_p) * all) break;
    sum += p[i];
    if (p[i] >= double(o.min_p)) out.insert(order[i]);
  }
  return out;
}

TEST(Sampler, RandomNumbersAreThoseOfPhilox) {
  // The published test vector: counter 0, key 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  EXPECT_EQ(random_at(0, 0), double(0x6627e8d5e169c58dU >> 11) * 0x1p-53);
  EXPECT_NE(random_at(0, 1), random_at(1, 0));
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double x = random_at(7, i << 20);
    ASSERT_TRUE(x >= 0 && x < 1) << x;
    sum += x;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.012);
}

TEST(Sampler, ExponentialsAreExactToTwoUnits) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponents(-700, 0);
  for (int i = 0; i < 100000; ++i) {
    const double x = i < 1000 ? -i / 1000.0 : exponents(random), want = std::exp(x);
    ASSERT_NEAR(exponential(x), want, 2 * want * 0x1p-52) << x;
  }
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1000), 0);
  EXPECT_EQ(exponential(-std::numeric_limits<double>::infinity()), 0);
}

TEST(Sampler, TheMostLikelyIsTheFirstOfEquals) {
  for (const size_t count : {1, 15, 16, 17, 1023, 1024, 1025, 5000}) {
    std::vector<float> logits = random_logits(count, uint32_t(count));
    for (const size_t at : {size_t{0}, count / 2, count - 1}) {
      std::vector<float> changed = logits;
      changed[at] = 100;
      EXPECT_EQ(most_likely(changed), int64_t(at));
      changed[count - 1] = 100;
      EXPECT_EQ(most_likely(changed), int64_t(at));
      changed[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(most_likely(changed), -1);
    }
    EXPECT_EQ(most_likely(std::vector<float>(count, -kInfinity)), -1);
    logits.assign(count, -kInfinity);
    logits.back() = -3;
    EXPECT_EQ(most_likely(logits), int64_t(count) - 1);
  }
}

TEST(Sampler, OptionsLeaveTheTokensOfTheirDefinition) {
  for (const int64_t top_k : {0, 1, 7, 100})
    for (const float top_p : {1.0F, 0.95F, 0.3F})
      for (const float min_p : {0.0F, 0.05F})
        for (const float temperature : {0.5F, 3.0F}) {
          const std::vector<float> logits = random_logits(300, uint32_t(top_k) + 3);
          GenerateOptions o;
          o.temperature = temperature;
          o.top_k = top_k;
          o.top_p = top_p;
          o.min_p = min_p;
          Sampler sampler(o, {});
          const std::set<int64_t> allowed = kept(logits, o);
          std::set<int64_t> drawn;
          for (uint64_t i = 0; i < 800; ++i) drawn.insert(sampler.next(logits, i));
          for (const int64_t id : drawn) EXPECT_TRUE(allowed.contains(id)) << id;
          EXPECT_TRUE(allowed.size() >= 8 || drawn == allowed) << top_k << " " << top_p;
        }
}

TEST(Sampler, AnInfiniteLogitIsCertain) {
  GenerateOptions o;
  o.temperature = 1;
  Sampler sampler(o, {});
  std::vector<float> logits = random_logits(50, 1);
  logits[31] = kInfinity;
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(sampler.next(logits, i), 31);
}

TEST(Sampler, RowsOfSixteenBitsAreWidened) {
  LogitsRow row;
  const uint16_t half[] = {0x3C00, 0xC000, 0x0001, 0x83FF, 0x7BFF, 0x7C00, 0xFC00, 0};
  const float wide[] = {1, -2, 0x1p-24F, -1023 * 0x1p-24F, 65504, kInfinity, -kInfinity, 0};
  const std::span<const float> got = row.read(half, DType::f16, 8);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(got[i], wide[i]) << i;
  EXPECT_TRUE(std::isnan(row.read(std::array<uint16_t, 1>{0x7E00}.data(), DType::f16, 1)[0]));
  EXPECT_EQ(row.read(std::array<uint16_t, 1>{0xC020}.data(), DType::bf16, 1)[0], -2.5F);
}

TEST(Sampler, OptionsThatMakeNoSenseAreASentence) {
  const auto refuses = [](auto change, const std::string& why) {
    GenerateOptions o;
    change(o);
    const Result<void> made = guarded([&] { Sampler(o, {}); });
    ASSERT_FALSE(made.ok()) << why;
    EXPECT_EQ(made.error().message, why);
  };
  refuses([](auto& o) { o.max_tokens = 0; }, "max_tokens must be at least 1");
  refuses([](auto& o) { o.temperature = -1; }, "temperature must be 0 or more");
  refuses([](auto& o) { o.temperature = kInfinity; }, "temperature must be 0 or more");
  refuses([](auto& o) { o.top_k = -1; }, "top_k must be 0 or more");
  refuses([](auto& o) { o.top_p = 1.5; }, "top_p must be above 0 and at most 1");
  refuses([](auto& o) { o.min_p = std::nanf(""); }, "min_p must be between 0 and 1");
  refuses([](auto& o) { o.repetition_penalty = 0; }, "repetition_penalty must be above 0");
  refuses([](auto& o) { o.presence_penalty = kInfinity; }, "presence_penalty must be a number");
  refuses([](auto& o) { o.chunk = -1; }, "chunk must be 0 or more");
}

}  // namespace
}  // namespace gart::detail
