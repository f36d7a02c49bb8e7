// Tensor maps: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make of a tensor in device memory. The 128 bytes
// are this simulation's own, and scrambled, so that nobody but the box copies of the shim can use them.
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
  uint64_t strides[kMostDimensions] = {};             // Bytes; that of dimension 0 is element_bytes.
  unsigned box[kMostDimensions] = {};                 // Elements; of images, channels of a pixel, then ones.
  unsigned steps[kMostDimensions] = {1, 1, 1, 1, 1};  // From one element of the box to the next.
  bool is_im2col = false;                             // These of images (channels, columns, ... images).
  unsigned pixels = 0;                                // A box's.
  int lower[kMostDimensions - 2] = {}, upper[kMostDimensions - 2] = {};  // Corners, per spatial dimension.

  // How many elements of dimension `d` a box has.
  [[nodiscard]] unsigned count(unsigned d) const { return (box[d] + steps[d] - 1) / steps[d]; }
  [[nodiscard]] unsigned line_bytes() const { return box[0] * element_bytes; }
  // Lines of a box.
  [[nodiscard]] unsigned lines() const;
  [[nodiscard]] unsigned box_bytes() const { return lines() * line_bytes(); }
  // What the driver would refuse, or "".
  [[nodiscard]] std::string problem() const;
  void encode(void* map) const;
  // False: these bytes are no map.
  [[nodiscard]] bool decode(const void* map);

 private:
  [[nodiscard]] std::string window_problem() const;
};

}  // namespace gart_sim
#endif
