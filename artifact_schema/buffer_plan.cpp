#include "artifact_schema/buffer_plan.h"

#include <algorithm>

#include "artifact_schema/container.h"

namespace gart {
namespace {

constexpr int64_t kBufferAlignment = 64;

/// Checks that `offset` + `bytes` is within `limit`, and that `offset` is aligned as kernels expect.
Status check_place(uint32_t index, const BufferExtent& extent, int64_t limit, const char* where) {
  if (extent.offset < 0 || extent.offset % kBufferAlignment != 0) {
    return failure("buffer ", index, " lies at offset ", extent.offset, " of ", where, ", not at a multiple of ",
                   kBufferAlignment);
  }
  if (extent.bytes > limit || extent.offset > limit - extent.bytes) {
    return failure("buffer ", index, " (", extent.bytes, " bytes at offset ", extent.offset, ") does not fit into ",
                   where, " of ", limit, " bytes");
  }
  return {};
}

Status measure_view(uint32_t index, const fb::Buffer& buffer, const Slots& slots, std::vector<BufferExtent>& extents) {
  const BufferExtent& base = extents[buffer.alias_of()];
  if (!slots.known[buffer.alias_offset()] || base.bytes < 0) return {};
  extents[index].offset = slots[buffer.alias_offset()];
  if (extents[index].bytes < 0) return {};
  return check_place(index, extents[index], base.bytes, "its base buffer");
}

}  // namespace

Status measure_buffer(const fb::Plan& plan, uint32_t index, bool late, const Slots& slots, uint64_t weight_bytes,
                      std::vector<BufferExtent>& extents) {
  const fb::Buffer& buffer = *plan.buffers()->Get(index);
  BufferExtent& extent = extents[index];
  if (slots.known[buffer.size()]) {
    extent.bytes = slots[buffer.size()];
    if (extent.bytes < 0 || extent.bytes > kMaxExtent) {
      return failure("buffer ", index, " would have ", extent.bytes, " bytes; 0 to ", kMaxExtent, " are possible");
    }
  }
  if (buffer.alias_of() >= 0) return measure_view(index, buffer, slots, extents);
  if (extent.bytes < 0) return {};
  const bool has_offset = buffer.offset() <= uint64_t(kMaxExtent);
  if (buffer.kind() == fb::BufferKind::constant) {
    extent.offset = has_offset ? int64_t(buffer.offset()) : -1;
    return check_place(index, extent, int64_t(weight_bytes), "the weights");
  }
  if (buffer.kind() == fb::BufferKind::packed) {
    extent.offset = has_offset ? int64_t(buffer.offset()) : -1;
    return check_place(index, extent, int64_t(std::min<uint64_t>(plan.packed_bytes(), kMaxExtent)),
                       "the packed region");
  }
  if (!late && buffer.kind() == fb::BufferKind::temporary &&
      (plan.placement() == nullptr || plan.placement()->size() == 0)) {
    extent.offset = has_offset ? int64_t(buffer.offset()) : -1;
    return check_place(index, extent, int64_t(plan.arena_bytes()), "the arena");
  }
  return {};
}

Status measure_buffers(const fb::Plan& plan, const Slots& slots, uint64_t weight_bytes,
                       std::vector<BufferExtent>& extents) {
  const uint32_t count = plan.buffers() == nullptr ? 0 : plan.buffers()->size();
  extents.assign(count, {});
  for (uint32_t i = 0; i < count; ++i) {
    if (Status status = measure_buffer(plan, i, false, slots, weight_bytes, extents); !status.ok()) return status;
  }
  return {};
}

Status place_temporaries(const fb::Plan& plan, std::vector<BufferExtent>& extents, int64_t& arena_bytes,
                         std::vector<PlacedRange>& scratch) {
  using Range = PlacedRange;
  std::vector<Range>& taken = scratch;  // ranges of the buffers that conflict with one buffer; sorted by begin
  arena_bytes = 0;
  for (const uint32_t index : *plan.placement()) {
    BufferExtent& extent = extents[index];
    if (extent.bytes < 0) continue;
    taken.clear();
    if (const auto* conflicts = plan.buffers()->Get(index)->conflicts()) {
      for (const uint32_t other : *conflicts) {
        const BufferExtent& placed = extents[other];
        if (placed.offset >= 0 && placed.bytes > 0) taken.push_back({placed.offset, placed.offset + placed.bytes});
      }
    }
    const auto by_begin = [](const Range& a, const Range& b) { return a.begin < b.begin; };
    std::make_heap(taken.begin(), taken.end(), by_begin);  // a heap needs a third of the machine code of std::sort
    std::sort_heap(taken.begin(), taken.end(), by_begin);
    int64_t offset = 0;
    for (const Range& range : taken) {
      if (offset + extent.bytes <= range.begin) break;
      offset = std::max(offset, int64_t(align_up(range.end, kBufferAlignment)));
    }
    if (offset > kMaxExtent) return failure("the arena would be larger than ", kMaxExtent, " bytes");
    extent.offset = offset;
    arena_bytes = std::max(arena_bytes, offset + int64_t(align_up(extent.bytes, kBufferAlignment)));
  }
  return {};
}

}  // namespace gart
