#include "runtime/generate/exact_math.h"

#include <array>
#include <bit>

namespace gart::detail {
namespace {

using Words = std::array<uint32_t, 4>;

Words philox(Words x, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    x = {uint32_t(b >> 32) ^ x[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ key1, uint32_t(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return x;
}

}  // namespace

double random_at(uint64_t seed, uint64_t position) {
  const Words x = philox({uint32_t(position), uint32_t(position >> 32), 0, 0}, uint32_t(seed), uint32_t(seed >> 32));
  const uint64_t bits = (uint64_t(x[0]) << 32 | x[1]) >> 11;
  return double(bits) * 0x1p-53;
}

double exponential(double x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2High = 0.6931471803691238, kLn2Low = 1.9082149292705877e-10;
  if (!(x > -700)) return 0;                 // below 1e-304
  const auto n = int64_t(x * kLog2E - 0.5);  // rounds to nearest, for negative numbers
  const double r = (x - double(n) * kLn2High) - double(n) * kLn2Low;
  double sum = 1;  // Taylor's series: |r| <= 0.35, so the term of r^14 is below 2^-54
  for (int k = 13; k > 0; --k) sum = 1 + sum * r / k;
  return sum * std::bit_cast<double>(uint64_t(n + 1023) << 52);
}

}  // namespace gart::detail
