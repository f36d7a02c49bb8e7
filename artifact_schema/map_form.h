// The form of tensor maps: what describes the tensor, and what the GPU takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "artifact_schema/spans.h"

namespace gart {

inline constexpr size_t kMinMapRank = 2, kMaxMapRank = 5;
inline constexpr uint32_t kMaxBoxExtent = 256;
inline constexpr uint64_t kMapAlignment = 16;  // of a tensor's address, its strides, and a box's lines, in bytes
inline constexpr int64_t kMaxMapExtent = int64_t{1} << 32, kMaxMapStride = (int64_t{1} << 40) - 1;  // elements, bytes

/// Offset, extents, and strides but the first.
inline size_t map_params(const fb::TensorMap& map) { return 2 * size_t{count_of(map.box())}; }

/// Bytes of the lines that are swizzled; 0: none are.
inline uint32_t swizzled_bytes(fb::Swizzle swizzle) {
  return swizzle == fb::Swizzle::none ? 0 : uint32_t{16} << static_cast<uint32_t>(swizzle);
}

/// Of the element types that maps know; else 0.
inline uint32_t map_element_bytes(fb::DType dtype) {
  constexpr uint8_t kBytes[] = {0, 4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8};  // up to u64
  return size_t(dtype) < sizeof kBytes ? kBytes[size_t(dtype)] : 0;
}

}  // namespace gart
