// Elements of 32 and 16 bits in memory.
#ifndef GART_TESTS_CUDA_SIM_LIBRARIES_ELEMENT_H
#define GART_TESTS_CUDA_SIM_LIBRARIES_ELEMENT_H

#include <bit>
#include <cstdint>

namespace gart_sim {

enum class Element : uint8_t { f32, f16, bf16 };

inline int64_t bytes_of(Element type) { return type == Element::f32 ? 4 : 2; }

inline float load_element(const void* data, int64_t at, Element type) {
  if (type == Element::f32) return static_cast<const float*>(data)[at];
  if (type == Element::f16) return static_cast<float>(static_cast<const _Float16*>(data)[at]);
  return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[at]} << 16);
}

inline void store_element(void* data, int64_t at, Element type, float value) {
  if (type == Element::f32) {
    static_cast<float*>(data)[at] = value;
  } else if (type == Element::f16) {
    static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value);
  } else {
    const auto bits = std::bit_cast<uint32_t>(value);
    static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

}  // namespace gart_sim
#endif
