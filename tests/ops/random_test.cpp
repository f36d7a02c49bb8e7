// Philox against its authors' published test vectors (kat_vectors of Random123), and the lowering against this Philox.
#include "compiler/ops/random.h"

#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Random, PhiloxGivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, BitsAreThoseOfPhilox) {
  const OpInput x = data(f32({3, 5}, {0}));
  const Tensor first = check_op({"the first element",
                                 "RandomBits",
                                 {data(f32({1}, {0}))},
                                 {},
                                 {tensor(DType::u32, {1}, {0x6627e8d5})},
                                 1,
                                 true,
                                 0,
                                 "gart"})[0];
  for (const int64_t word : {0, 1, 2, 3})
    check_op({"a word",
              "RandomBits",
              {x},
              {{"word", word}, {"seed", int64_t{0x299f31d0a4093822}}, {"offset", int64_t{-2}}},
              {},
              1,
              true,
              0,
              "gart"});
}

/// The state is added to the attributes seed and offset.
TEST(Random, BitsFollowTheState) {
  const OpInput x = data(f32({3, 5}, {0}));
  for (const int64_t word : {0, 3}) {
    const auto bits = [&](std::vector<OpInput> in, int64_t seed, int64_t offset) {
      return check_op({"a word",
                       "RandomBits",
                       std::move(in),
                       {{"word", word}, {"seed", seed}, {"offset", offset}},
                       {},
                       1,
                       true,
                       0,
                       "gart"})[0];
    };
    const int64_t seed = int64_t{1} << 40;
    const Tensor sum = bits({x, data(i64({2}, {static_cast<double>(seed), 9}))}, 5, -20);
    const Tensor plain = bits({x}, seed + 5, -11);
    for (int64_t i = 0; i < plain.elements(); ++i) EXPECT_EQ(sum.at_int(i), plain.at_int(i)) << i;
  }
}

}  // namespace
}  // namespace gcg::test
