#include "compiler/support/nearest.h"

#include <gtest/gtest.h>

namespace gcg {
namespace {

using Names = std::vector<std::string>;

TEST(Nearest, ByEditsThenByBeginningThenByName) {
  EXPECT_EQ(nearest_names("relu_4", {"mul", "relu", "relu_41", "relu_3", "conv"}),
            (Names{"relu_41", "relu_3", "relu"}));
  EXPECT_EQ(nearest_names("ab", {"cb", "ac", "aa"}), (Names{"aa", "ac", "cb"}));
}

TEST(Nearest, Messages) {
  EXPECT_EQ(nearest("kiten", {"kitten"}), "; the nearest: 'kitten'");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("", {"", "a"}), "; the nearest: 'a'");
}

}  // namespace
}  // namespace gcg
