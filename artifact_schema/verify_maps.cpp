// Verifies the tensor maps of launches, as far as the manifest describes them. The runtime checks extents, strides and
// addresses once they are known, before the driver encodes the map.
#include "artifact_schema/map_layout.h"
#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

Status wrong(const char* what, uint64_t value, const char* rule) { return failure(what, value, rule); }

Status check_steps(const fb::TensorMap& map) {
  const uint32_t steps = count_of(map.steps()), rank = count_of(map.box());
  if (steps != 0 && steps != rank) return wrong("it has ", steps, " steps, not one per dimension");
  for (uint32_t d = 0; d < steps; ++d) {
    const uint32_t step = map.steps()->Get(d);
    if (step < 1 || step > (d == 0 ? 1 : kMaxMapStep))
      return wrong("a step is ", step, ", not 1 to 8, or 1 in the contiguous dimension");
  }
  return {};
}

/// Checks the fields that only maps of images have.
Status check_window(const fb::TensorMap& map) {
  const uint32_t rank = count_of(map.box()), lower = count_of(map.lower()), upper = count_of(map.upper());
  if (map.kind() > fb::MapKind::MAX) return wrong("its kind is ", uint64_t(map.kind()), ", which is not known");
  if (map.kind() == fb::MapKind::tiled) {
    if (map.pixels() != 0 || lower != 0 || upper != 0)
      return wrong("its boxes have ", map.pixels(), " pixels or it has corners, but it is not of images");
    return {};
  }
  if (rank < kMinImageRank) return wrong("its images have ", rank, " dimensions, not 3 to 5");
  if (map.pixels() < 1 || map.pixels() > kMaxMapPixels)
    return wrong("its boxes have ", map.pixels(), " pixels, not 1 to 1024");
  if (lower != rank - 2 || upper != rank - 2)
    return wrong("it has ", lower != rank - 2 ? lower : upper, " numbers for a corner, not one per spatial dimension");
  const int32_t least = least_corner(rank);
  for (uint32_t d = 0; d < rank - 2; ++d)
    for (const int32_t corner : {map.lower()->Get(d), map.upper()->Get(d)})
      if (corner < least || corner >= -least)
        return failure("a corner is ", corner, ", not ", least, " to ", -least - 1, " as for ", rank, " dimensions");
  for (uint32_t d = 1; d < rank; ++d)
    if (map.box()->Get(d) != 1) return wrong("its pixels have an extent of ", map.box()->Get(d), " beside channels");
  if (rank > 2 && map_step(map, rank - 1) != 1)
    return wrong("its images are ", map_step(map, rank - 1), " apart, not 1");
  return {};
}

Status check_map(const fb::TensorMap& map, const fb::Kernel& kernel) {
  const auto box = span_of(map.box());
  const uint32_t element = map_element_bytes(map.dtype());
  if (map.operand() >= kernel.operands()) return wrong("its operand is ", map.operand(), ", which does not exist");
  if (element == 0) return wrong("its dtype is ", uint64_t(map.dtype()), ", which tensor maps lack");
  if (map.swizzle() > fb::Swizzle::MAX)
    return wrong("its swizzle is ", uint64_t(map.swizzle()), ", which is not known");
  if (box.size() < kMinMapRank || box.size() > kMaxMapRank)
    return wrong("its tensor has ", box.size(), " dimensions, not 2 to 5");
  for (const uint32_t extent : box)
    if (extent < 1 || extent > kMaxBoxExtent) return wrong("an extent of its box is ", extent, ", not 1 to 256");
  if (Status status = check_steps(map); !status.ok()) return status;
  if (Status status = check_window(map); !status.ok()) return status;
  if (const uint64_t bytes = box_bytes(map); bytes > kernel.shared())
    return wrong("its box has ", bytes, " bytes, more than the kernel's shared memory");
  const uint32_t line = box[0] * element, swizzled = swizzled_bytes(map.swizzle());
  if (line % kMapAlignment != 0 || (swizzled != 0 && line > swizzled))
    return wrong("lines of its box have ", line, " bytes: not a multiple of 16, or too many to swizzle");
  return {};
}

}  // namespace

Status check_maps(const PlanCheck& check, const fb::Step& step, const fb::Kernel& kernel, size_t& params) {
  const uint32_t maps = count_of(step.maps());
  if (kernel.maps() != maps) return wrong("it gives ", maps, " tensor maps to its kernel, which takes another number");
  if (Status status = check.budget.spend(maps); !status.ok()) return status;
  for (uint32_t i = 0; i < maps; ++i) {
    const fb::TensorMap& map = *step.maps()->Get(i);
    const size_t numbers =
        size_t{count_of(map.box())} + count_of(map.steps()) + count_of(map.lower()) + count_of(map.upper());
    if (Status status = check.budget.spend(numbers); !status.ok()) return status;
    if (Status status = check_map(map, kernel); !status.ok()) return within(status, "a tensor map");
    params += map_params(map);
  }
  return {};
}

}  // namespace gart::verify
