#include "tests/cuda/sim/engine/block_adder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace gart_sim {
namespace {

constexpr int kKeptBits = 23 + 1;  // bits of the fraction that are kept below the leading bit of the largest term

int exponent(float x) { return std::max(static_cast<int>(std::bit_cast<uint32_t>(x) >> 23 & 255u), 1) - 127; }

double power_of_two(int e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); }

float cut_to_f32(double x) {
  const float nearest = static_cast<float>(x);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
}

float add_block(float sum, const float* a, const float* b, unsigned count) {
  int top = sum == 0 ? -1000 : exponent(sum);
  bool finite = std::isfinite(sum);
  for (unsigned k = 0; k < count; ++k) {
    finite = finite && std::isfinite(a[k]) && std::isfinite(b[k]);
    if (a[k] != 0 && b[k] != 0) top = std::max(top, exponent(a[k]) + exponent(b[k]));
  }
  if (!finite) {
    for (unsigned k = 0; k < count; ++k) sum += a[k] * b[k];
    return sum;
  }
  if (top == -1000) return sum;
  const double scale = power_of_two(kKeptBits - top);
  int64_t total = static_cast<int64_t>(sum * scale);
  for (unsigned k = 0; k < count; ++k) total += static_cast<int64_t>(static_cast<double>(a[k]) * b[k] * scale);
  return cut_to_f32(static_cast<double>(total) * power_of_two(top - kKeptBits));
}

}  // namespace

float add_products(float sum, const float* a, const float* b, unsigned count, unsigned block) {
  for (unsigned k = 0; k < count; k += block) sum = add_block(sum, a + k, b + k, std::min(block, count - k));
  return sum;
}

}  // namespace gart_sim
