// Tensor maps: what cuTensorMapEncodeTiled makes of a tensor in device memory. The 128 bytes are this simulation's own,
// and scrambled, so that nobody but the box copies of the shim can use them.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_TENSOR_MAP_H
#define GART_TESTS_CUDA_SIM_ENGINE_TENSOR_MAP_H

#include <cstdint>
#include <string>

namespace gart_sim {

struct TensorMap {
  static constexpr unsigned kMostDimensions = 5;
  static constexpr unsigned kBytes = 128;

  uint64_t address = 0;
  unsigned rank = 0, element_bytes = 0;
  unsigned swizzle = 0;  // 0: none; else the bytes of a line: 32, 64, 128.
  uint64_t extents[kMostDimensions] = {};
  uint64_t strides[kMostDimensions] = {};  // Bytes; that of dimension 0 is element_bytes.
  unsigned box[kMostDimensions] = {};      // Elements.

  [[nodiscard]] unsigned box_bytes() const;
  // What the driver would refuse, or "".
  [[nodiscard]] std::string problem() const;
  void encode(void* map) const;
  // False: these bytes are no map.
  [[nodiscard]] bool decode(const void* map);
};

}  // namespace gart_sim
#endif
