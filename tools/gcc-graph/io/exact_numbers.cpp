#include "tools/gcc-graph/io/exact_numbers.h"

#include <cstring>
#include <random>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

void put(uint8_t* to, const auto& value) { std::memcpy(to, &value, sizeof value); }

/// A sum of 12 uniform numbers in [0, 1) has the variance 1, because each number has the variance 1/12. A float can
/// hold all bits of the sum.
double about_normal(std::mt19937_64& random) {
  int64_t sum = 0;
  for (int word = 0; word < 3; ++word)
    for (uint64_t bits = random(), part = 0; part < 4; ++part, bits >>= 16) sum += static_cast<int64_t>(bits & 0xffff);
  return static_cast<double>(sum - (int64_t{6} << 16)) / (1 << 16);
}

}  // namespace

HostTensor exact_numbers(const std::string& name, gart::DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  if (dtype == gart::DType::string) fail("input '", name, "': there are no random strings here");
  HostTensor out{dtype, shape, {}};
  out.bytes.resize(static_cast<size_t>(checked_bytes(shape, dtype, "input '" + name + "'")));
  for (const unsigned char c : name) seed = seed * 1099511628211u + c;
  std::mt19937_64 random(seed);
  const size_t size = gart::size_of(dtype);
  for (uint8_t* to = out.bytes.data(); to != out.bytes.data() + out.bytes.size(); to += size) switch (dtype) {
      case gart::DType::f32:
        put(to, static_cast<float>(about_normal(random)));
        break;
      case gart::DType::f64:
        put(to, about_normal(random));
        break;
      case gart::DType::f16:
        put(to, static_cast<uint16_t>(0x3c00 | (random() & 1) << 15));
        break;
      case gart::DType::bf16:
        put(to, static_cast<uint16_t>(0x3f80 | (random() & 1) << 15));
        break;
      default:
        *to = static_cast<uint8_t>(random() & 1);
    }
  return out;
}

}  // namespace gcg::tools
