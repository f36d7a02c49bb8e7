#include "compiler/kernel/typical_extent.h"

#include <gtest/gtest.h>

namespace gcg {
namespace {

TEST(TypicalExtent, IsWhatSymbolsOfTheTypicalExtentGive) {
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(typical(n * n + Dim(1)), 64 * 64 + 1);
  EXPECT_EQ(typical(Dim(5) - n), 1);
}

TEST(TypicalExtent, WhatGivesNoNumberCountsAsOne) {
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(typical(Dim(int64_t{1} << 60) * n), 64);  // beyond 64 bits
}

}  // namespace
}  // namespace gcg
