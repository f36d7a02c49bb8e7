// Compares the emulation of AMX's tiles with independent implementations: for bytes, VPDPBUSD of this CPU; for pairs of
// bf16, recorded results of TDPBF16PS in Bochs (cpu/avx/amx.cc and its softfloat at 783b58f). One rule of Bochs is not
// used: its subtraction flushes results in [2^-126, 2^-125), which are normal numbers. On a CPU with tiles, the tests
// check the CPU.
#include "tests/codegen/amx_emulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>

namespace gcg::test {
namespace {

#define TILES __attribute__((target("amx-tile,amx-int8,amx-bf16")))

/// Sums[m][n] += a[m][k] * b[k][n], in words of four bytes.
struct Shape {
  int m = 16, n = 16, k = 16;
};
constexpr Shape kShapes[] = {{16, 16, 16}, {5, 16, 16}, {16, 7, 16}, {16, 16, 3}, {1, 1, 1}, {13, 11, 9}};

struct Words {
  std::vector<uint32_t> sums, a, b;
};

struct Configuration {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

/// A compiler barrier: GCC 12's intrinsics do not declare the memory that they read.
void write_back(const void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

TILES void configure(const Shape& s) {
  Configuration c;
  c.bytes[0] = c.bytes[2] = static_cast<uint16_t>(4 * s.n), c.bytes[1] = static_cast<uint16_t>(4 * s.k);
  c.rows[0] = c.rows[1] = static_cast<uint8_t>(s.m), c.rows[2] = static_cast<uint8_t>(s.k);
  write_back(&c);
  _tile_loadconfig(&c);
}

enum class Product { unsigned_bytes, signed_bytes, pairs };

TILES void multiply(const Shape& s, Product product, Words& w) {
  configure(s);
  write_back(&w);
  _tile_loadd(0, w.sums.data(), 4 * s.n);
  _tile_loadd(1, w.a.data(), 4 * s.k);
  _tile_loadd(2, w.b.data(), 4 * s.n);
  if (product == Product::unsigned_bytes) _tile_dpbusd(0, 1, 2);
  if (product == Product::signed_bytes) _tile_dpbssd(0, 1, 2);
  if (product == Product::pairs) _tile_dpbf16ps(0, 1, 2);
  _tile_stored(0, w.sums.data(), 4 * s.n);
  _tile_release();
}

class Random {
 public:
  uint32_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(state_ >> 32);
  }

 private:
  uint64_t state_ = 2024;
};

template <class Make>
std::vector<uint32_t> words(int count, Make make) {
  std::vector<uint32_t> made(static_cast<size_t>(count));
  for (uint32_t& word : made) word = make();
  return made;
}

/// A hash of results. All NaNs count as the same.
uint64_t digest(const std::vector<uint32_t>& sums) {
  uint64_t hash = 14695981039346656037ULL;
  for (uint32_t word : sums) {
    if ((word & 0x7fffffff) > 0x7f800000) word = 0x7fc00000;
    for (int i = 0; i < 4; ++i) hash = (hash ^ (word >> 8 * i & 255)) * 1099511628211ULL;
  }
  return hash;
}

/// A bf16 number with an exponent in [lowest, lowest + range).
uint32_t half(Random& random, uint32_t lowest, uint32_t range) {
  const uint32_t bits = random.next();
  return (bits >> 31 << 15) | (lowest + bits % range) << 7 | (bits >> 20 & 127);
}

/// A hash of the results for bf16 pairs in all shapes; the exponents of factors and sums are in these ranges.
uint64_t digest_of_pairs(uint32_t lowest, uint32_t range, uint32_t lowest_sum, uint32_t sum_range) {
  Random random;
  std::vector<uint32_t> all;
  for (const Shape& s : kShapes) {
    const auto pair = [&] { return half(random, lowest, range) | half(random, lowest, range) << 16; };
    const auto sum = [&] { return half(random, lowest_sum, sum_range) << 16 | (random.next() & 0xffff); };
    Words w{words(s.m * s.n, sum), words(s.m * s.k, pair), words(s.k * s.n, pair)};
    multiply(s, Product::pairs, w);
    all.insert(all.end(), w.sums.begin(), w.sums.end());
  }
  return digest(all);
}

class Amx : public testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("fma") || !provide_amx()) GTEST_SKIP() << "no tiles, and nothing to emulate them with";
  }
};

TEST_F(Amx, BytesAreMultipliedExactlyAndSumsWrapAround) {
  Random random;
  for (const Shape& s : kShapes)
    for (const Product product : {Product::unsigned_bytes, Product::signed_bytes}) {
      const auto any = [&] { return random.next(); };
      Words w{words(s.m * s.n, any), words(s.m * s.k, any), words(s.k * s.n, any)};
      std::vector<uint32_t> expected = w.sums;
      for (int m = 0; m < s.m; ++m)
        for (int n = 0; n < s.n; ++n)
          for (int k = 0; k < s.k; ++k)
            for (int i = 0; i < 4; ++i) {
              const auto a = static_cast<uint8_t>(w.a[static_cast<size_t>(m * s.k + k)] >> 8 * i);
              const auto b = static_cast<int8_t>(w.b[static_cast<size_t>(k * s.n + n)] >> 8 * i);
              const int left = product == Product::unsigned_bytes ? a : static_cast<int8_t>(a);
              expected[static_cast<size_t>(m * s.n + n)] += static_cast<uint32_t>(left * b);
            }
      multiply(s, product, w);
      EXPECT_EQ(w.sums, expected) << s.m << "x" << s.n << "x" << s.k;
    }
}

__attribute__((target("avx512f,avx512vnni"))) void add_dot_products(uint32_t* sums, uint32_t a, const uint32_t* b) {
  _mm512_storeu_si512(sums, _mm512_dpbusd_epi32(_mm512_loadu_si512(sums), _mm512_set1_epi32(static_cast<int>(a)),
                                                _mm512_loadu_si512(b)));
}

TEST_F(Amx, BytesGiveTheSumsOfVnni) {
  if (!__builtin_cpu_supports("avx512vnni")) GTEST_SKIP() << "this CPU has no VNNI";
  Random random;
  const auto any = [&] { return random.next(); };
  Words w{words(256, any), words(256, any), words(256, any)};
  std::vector<uint32_t> expected = w.sums;
  for (size_t m = 0; m < 16; ++m)
    for (size_t k = 0; k < 16; ++k) add_dot_products(&expected[16 * m], w.a[16 * m + k], &w.b[16 * k]);
  multiply({}, Product::unsigned_bytes, w);
  EXPECT_EQ(w.sums, expected);
}

struct Known {
  const char* what;
  uint32_t lowest, range, lowest_sum, sum_range;
  uint64_t digest;  // by Bochs
};
constexpr Known kKnown[] = {
    {"numbers about 1", 120, 14, 120, 14, 6663711260889630414U},
    {"numbers of any size", 1, 254, 1, 254, 2979259696046353169U},
    {"factors below 2^-126", 0, 2, 0, 4, 6300871832703517455U},
    {"products below 2^-126", 60, 8, 0, 4, 3039298246653493925U},
    {"infinities and no numbers", 190, 66, 190, 66, 9670677186076245477U},
};

TEST_F(Amx, PairsAreSummedAsBochsSumsThem) {
  for (const Known& k : kKnown)
    EXPECT_EQ(digest_of_pairs(k.lowest, k.range, k.lowest_sum, k.sum_range), k.digest) << k.what;
}

TILES void load_zero_and_store(uint32_t* to) {
  configure({16, 4, 16});
  _tile_loadd(0, to, 16);
  _tile_zero(0);
  _tile_stored(0, to, 16);
  _tile_release();
}

TEST_F(Amx, OnlyConfiguredColumnsAreStored) {
  std::vector<uint32_t> words(64 + 4, 7);
  load_zero_and_store(words.data());
  EXPECT_EQ(std::count(words.begin(), words.begin() + 64, 0U), 64);
  EXPECT_EQ(std::count(words.begin() + 64, words.end(), 7U), 4);
  EXPECT_TRUE(amx_is_released());
}

TILES void multiply_unlike() {
  configure({16, 4, 16});
  _tile_dpbusd(0, 2, 1);
}

TEST(AmxDeathTest, WhatTheUnitRefusesEndsTheProcess) {
  if (!provide_amx()) GTEST_SKIP();
  EXPECT_DEATH(multiply_unlike(), "");
}

}  // namespace
}  // namespace gcg::test
#endif
