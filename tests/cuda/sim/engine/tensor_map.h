// Tensor maps: the results of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col for a tensor in device memory. The
// layout of the 128 bytes is this simulation's own. It is scrambled, so that only the shim's box copies can use it.
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
  unsigned swizzle = 0;  // bytes of a swizzled line: 32, 64 or 128; 0: not swizzled
  uint64_t extents[kMostDimensions] = {};
  uint64_t strides[kMostDimensions] = {};             // strides in bytes; the stride of dimension 0 is element_bytes
  unsigned box[kMostDimensions] = {};                 // in elements; for images: channels of a pixel, then ones
  unsigned steps[kMostDimensions] = {1, 1, 1, 1, 1};  // steps from one element of the box to the next
  bool is_im2col = false;                             // boxes are pixels of images (channels, columns, ... images)
  unsigned pixels = 0;                                // of a box
  int lower[kMostDimensions - 2] = {}, upper[kMostDimensions - 2] = {};  // corners, per spatial dimension

  // Number of elements of dimension `d` in a box.
  [[nodiscard]] unsigned count(unsigned d) const { return (box[d] + steps[d] - 1) / steps[d]; }
  [[nodiscard]] unsigned line_bytes() const { return box[0] * element_bytes; }
  // Number of lines in a box.
  [[nodiscard]] unsigned lines() const;
  [[nodiscard]] unsigned box_bytes() const { return lines() * line_bytes(); }
  // The reason why the driver would refuse the map, or "".
  [[nodiscard]] std::string problem() const;
  void encode(void* map) const;
  // Returns false if these bytes are not a map.
  [[nodiscard]] bool decode(const void* map);

 private:
  [[nodiscard]] std::string window_problem() const;
};

}  // namespace gart_sim
#endif
