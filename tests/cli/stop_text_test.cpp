// Searches stop texts in a text that arrives in pieces, and compares the result with a search in the whole text.
#include "tools/text/stop_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcg::tools {
namespace {

struct Shown {
  std::string text;
  bool stopped = false;
};

Shown shown(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopText stop(stops);
  Shown out;
  for (const std::string& piece : pieces) {
    out.text += stop.add(piece);
    out.stopped = stop.has_stopped();
    if (out.stopped) return out;
  }
  out.text += stop.held_back();
  return out;
}

TEST(StopText, EndsBeforeTheFirstWord) {
  EXPECT_EQ(shown({"end"}, {"the e", "n", "d of it"}).text, "the ");
  EXPECT_EQ(shown({"x", "end"}, {"an end, then x"}).text, "an ");
  EXPECT_EQ(shown({"ab"}, {"aa", "b"}).text, "a");
  EXPECT_TRUE(shown({"ab"}, {"aa", "b"}).stopped);
}

TEST(StopText, ShowsAllButAPossibleBeginning) {
  StopText stop({"abc", "bd"});
  EXPECT_EQ(stop.add("xab"), "x");
  EXPECT_EQ(stop.add("x"), "abx");
  EXPECT_EQ(stop.add("b"), "");
  EXPECT_EQ(stop.held_back(), "b");
  EXPECT_FALSE(stop.has_stopped());
}

TEST(StopText, EqualsASearchInTheWholeText) {
  uint32_t random = 1;
  const auto next = [&](uint32_t below) { return (random = random * 1664525 + 1013904223) / 65536 % below; };
  const auto word = [&](uint32_t most) {
    std::string out;
    for (uint32_t n = 1 + next(most); n > 0; --n) out += char('a' + next(2));
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    const std::vector<std::string> stops = {word(4) + "c", word(5)};
    std::vector<std::string> pieces;
    std::string whole;
    for (uint32_t n = next(6); n > 0; --n) {
      pieces.push_back(word(3));
      whole += pieces.back();
    }
    const size_t end = std::min(whole.find(stops[0]), whole.find(stops[1]));
    const Shown got = shown(stops, pieces);
    EXPECT_EQ(got.text, whole.substr(0, end)) << whole;
    EXPECT_EQ(got.stopped, end != std::string::npos);
  }
}

}  // namespace
}  // namespace gcg::tools
