// Prompt lookup: guesses of the next tokens.
#include "runtime/generate/prompt_lookup.h"

#include <gtest/gtest.h>

namespace gart::detail {
namespace {

using Ids = std::vector<int64_t>;

Ids guess(int64_t most, const Ids& text, int64_t limit = 100) { return PromptLookup(most, text).guess(limit); }

TEST(PromptLookup, GuessesWhatFollowedTheSameTokens) {
  EXPECT_EQ(guess(3, {1, 2, 3, 4, 5, 9, 1, 2}), (Ids{3, 4, 5}));
  EXPECT_EQ(guess(9, {1, 2, 3, 4, 9, 1, 2}, 2), (Ids{3, 4}));
}

TEST(PromptLookup, TakesTheLongestEndAndTheLatestOfEquals) {
  EXPECT_EQ(guess(1, {0, 1, 2, 7, 5, 1, 2, 8, 0, 1, 2}), (Ids{7}));
  EXPECT_EQ(guess(1, {1, 2, 7, 5, 1, 2, 8, 6, 1, 2}), (Ids{8}));
}

TEST(PromptLookup, GoesOnWithAShortPeriod) {
  EXPECT_EQ(guess(7, {4, 1, 2, 3, 1, 2, 3}), (Ids{1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(guess(4, {5, 5, 5}), (Ids{5, 5, 5, 5}));
}

TEST(PromptLookup, HasNoGuessWithoutTwoEqualTokens) {
  EXPECT_EQ(guess(4, {1, 2, 3, 4}), Ids());
  EXPECT_EQ(guess(4, {1, 2, 3, 2}), Ids());
  EXPECT_EQ(guess(4, {}), Ids());
  EXPECT_EQ(guess(4, {1, 1}), Ids());
  EXPECT_EQ(guess(0, {1, 1, 1, 1}), Ids());
  EXPECT_EQ(guess(4, {1, 1, 1, 1}, 0), Ids());
}

TEST(PromptLookup, LearnsHowLongGuessesAreRight) {
  PromptLookup lookup(8, Ids{1, 2, 1, 2, 1, 2});
  lookup.learn(8, 0);
  EXPECT_EQ(lookup.guess(100).size(), 1U);
  lookup.learn(1, 1);
  EXPECT_EQ(lookup.guess(100).size(), 2U);
  lookup.learn(0, 0);  // nothing was guessed
  EXPECT_EQ(lookup.guess(100).size(), 2U);
  for (int i = 0; i < 4; ++i) lookup.learn(8, 8);
  EXPECT_EQ(lookup.guess(100).size(), 8U);
  lookup.add(7);
  EXPECT_EQ(lookup.guess(100), Ids());
}

TEST(PromptLookup, EqualsAPlainSearch) {
  uint32_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    Ids text;
    for (int i = 0; i < round % 40; ++i) text.push_back((random = random * 1664525 + 1013904223) >> 30);
    size_t best = 1, from = 0;
    for (size_t end = 2; end < text.size(); ++end) {
      size_t equal = 0;
      while (equal < end && equal < 8 && text[end - 1 - equal] == text[text.size() - 1 - equal]) ++equal;
      if (equal >= best && equal >= 2) best = equal, from = end;
    }
    EXPECT_EQ(guess(1, text), from == 0 ? Ids() : Ids{text[from]}) << round;
  }
}

}  // namespace
}  // namespace gart::detail
