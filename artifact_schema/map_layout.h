// The layout of tensor maps: the numbers that describe the tensor, and the limits of the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "artifact_schema/spans.h"

namespace gart {

inline constexpr size_t kMinMapRank = 2, kMaxMapRank = 5;
inline constexpr uint32_t kMaxBoxExtent = 256, kMaxMapStep = 8;
inline constexpr size_t kMinImageRank = 3;  // for im2col, like the next constant
inline constexpr uint32_t kMaxMapPixels = 1024;
// Alignment in bytes of a tensor's address, its strides, and a box's lines.
inline constexpr uint64_t kMapAlignment = 16;
inline constexpr int64_t kMaxMapExtent = int64_t{1} << 32, kMaxMapStride = (int64_t{1} << 40) - 1;  // elements, bytes

/// The numbers of a map: offset, extents, and all strides but the first.
inline size_t map_params(const fb::TensorMap& map) { return 2 * size_t{count_of(map.box())}; }

/// Bytes of a swizzled line; 0: no swizzling.
inline uint32_t swizzled_bytes(fb::Swizzle swizzle) {
  return swizzle == fb::Swizzle::none ? 0 : uint32_t{16} << static_cast<uint32_t>(swizzle);
}

/// Bytes of an element type that maps support; otherwise 0.
inline uint32_t map_element_bytes(fb::DType dtype) {
  constexpr uint8_t kBytes[] = {0, 4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8};  // up to u64
  return size_t(dtype) < sizeof kBytes ? kBytes[size_t(dtype)] : 0;
}

/// im2col: the smallest corner position that the GPU accepts, for tensors of this rank. The largest one is
/// -least_corner(rank) - 1.
inline int32_t least_corner(size_t rank) { return -(rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4); }

/// The step between neighbouring elements of a box.
inline uint32_t map_step(const fb::TensorMap& map, size_t dimension) {
  return dimension < count_of(map.steps()) ? map.steps()->Get(uint32_t(dimension)) : 1;
}

/// Bytes of a box in shared memory; the map need not be valid.
inline uint64_t box_bytes(const fb::TensorMap& map) {
  uint64_t bytes = map_element_bytes(map.dtype());
  if (map.kind() == fb::MapKind::im2col) bytes *= map.pixels();
  for (uint32_t d = 0; d < count_of(map.box()); ++d) {
    const uint64_t step = map_step(map, d);
    bytes *= map.kind() == fb::MapKind::im2col || step == 0 ? map.box()->Get(d) : (map.box()->Get(d) + step - 1) / step;
  }
  return bytes;
}

}  // namespace gart
