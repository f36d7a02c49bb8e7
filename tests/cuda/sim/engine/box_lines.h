// The lines of a box, and their positions in shared memory and in the tensor.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_BOX_LINES_H
#define GART_TESTS_CUDA_SIM_ENGINE_BOX_LINES_H

#include <algorithm>

#include "tests/cuda/sim/engine/block_state.h"

namespace gart_sim {

// The address of byte `offset` of a box that starts at `target`: the address decides how 16-byte chunks are swizzled.
inline size_t swizzled(size_t target, size_t offset, unsigned swizzle) {
  const size_t address = target + offset, chunks = swizzle ? swizzle / AsyncShadow::kPiece - 1 : 0;
  return address ^ ((address >> 7 & chunks) << 4);
}

// PTX ISA, "Im2col mode": pixels come in the order columns, rows, images, each dimension from its lower corner to its
// last position; then the offsets are added to each pixel.
template <class Line>
void each_pixel(const BoxCopy& copy, const Line& line) {
  const TensorMap& map = copy.map;
  auto corner = copy.at;
  for (unsigned i = 0; i < map.pixels; ++i) {
    auto at = corner;
    for (unsigned d = 1; d + 1 < map.rank; ++d) at[d] += copy.offsets[d - 1];
    line(size_t{i} * map.line_bytes(), at);
    for (unsigned d = 1; d < map.rank; ++d) {
      corner[d] += map.steps[d];
      if (d + 1 == map.rank || corner[d] < static_cast<int64_t>(map.extents[d]) + map.upper[d - 1]) break;
      corner[d] = map.lower[d - 1];
    }
  }
}

// Calls line(offset in the box, coordinates of its first element) for every line of the box.
template <class Line>
void each_line(const BoxCopy& copy, const Line& line) {
  const TensorMap& map = copy.map;
  if (map.is_im2col) return each_pixel(copy, line);
  for (size_t i = 0; i < map.lines(); ++i) {
    auto at = copy.at;
    size_t remainder = i;
    for (unsigned d = 1; d < map.rank; ++d) {
      at[d] += static_cast<int64_t>(remainder % map.count(d) * map.steps[d]);
      remainder /= map.count(d);
    }
    line(i * map.line_bytes(), at);
  }
}

struct LinePart {
  uint64_t address = 0;
  size_t first = 0, bytes = 0;  // the elements of the line that are inside the tensor
};
inline LinePart inside(const TensorMap& map, const std::array<int64_t, TensorMap::kMostDimensions>& at) {
  LinePart part;
  int64_t offset = static_cast<int64_t>(map.address);
  for (unsigned d = 1; d < map.rank; ++d) {
    if (at[d] < 0 || at[d] >= static_cast<int64_t>(map.extents[d])) return part;
    offset += at[d] * static_cast<int64_t>(map.strides[d]);
  }
  const int64_t begin = std::max<int64_t>(at[0], 0);
  const int64_t end = std::min<int64_t>(at[0] + map.box[0], static_cast<int64_t>(map.extents[0]));
  if (begin >= end) return part;
  part.first = static_cast<size_t>(begin - at[0]) * map.element_bytes;
  part.bytes = static_cast<size_t>(end - begin) * map.element_bytes;
  part.address = static_cast<uint64_t>(offset + begin * map.element_bytes);
  return part;
}

}  // namespace gart_sim
#endif
