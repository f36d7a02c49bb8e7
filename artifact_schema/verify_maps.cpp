// Tensor maps of launches: what they say of themselves. Extents, strides and addresses are checked when they are known,
// by whoever has the driver encode the map.
#include "artifact_schema/map_form.h"
#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

Status wrong(const char* what, uint64_t value, const char* rule) { return failure(what, value, rule); }

Status check_map(const fb::TensorMap& map, const fb::Kernel& kernel) {
  const auto box = span_of(map.box());
  const uint32_t element = map_element_bytes(map.dtype());
  if (map.operand() >= kernel.operands()) return wrong("its operand is ", map.operand(), ", but there are not so many");
  if (element == 0) return wrong("its dtype is ", uint64_t(map.dtype()), ", which tensor maps do not know");
  if (map.swizzle() > fb::Swizzle::MAX)
    return wrong("its swizzle is ", uint64_t(map.swizzle()), ", which is not known");
  if (box.size() < kMinMapRank || box.size() > kMaxMapRank)
    return wrong("its tensor has ", box.size(), " dimensions, not 2 to 5");
  uint64_t bytes = element;
  for (const uint32_t extent : box) {
    if (extent < 1 || extent > kMaxBoxExtent) return wrong("an extent of its box is ", extent, ", not 1 to 256");
    bytes *= extent;
  }
  if (bytes > kernel.shared()) return wrong("its box has ", bytes, " bytes, more than the kernel has of shared memory");
  const uint32_t line = box[0] * element, swizzled = swizzled_bytes(map.swizzle());
  if (line % kMapAlignment != 0 || (swizzled != 0 && line > swizzled))
    return wrong("lines of its box have ", line, " bytes: no multiple of 16, or more than are swizzled");
  return {};
}

}  // namespace

Status check_maps(const PlanCheck& check, const fb::Step& step, const fb::Kernel& kernel, size_t& params) {
  const uint32_t maps = count_of(step.maps());
  if (kernel.maps() != maps)
    return wrong("it gives ", maps, " tensor maps to its kernel, which takes another number of them");
  if (Status status = check.budget.spend(maps); !status.ok()) return status;
  for (uint32_t i = 0; i < maps; ++i) {
    const fb::TensorMap& map = *step.maps()->Get(i);
    if (Status status = check.budget.spend(count_of(map.box())); !status.ok()) return status;
    if (Status status = check_map(map, kernel); !status.ok()) return within(status, "a tensor map");
    params += map_params(map);
  }
  return {};
}

}  // namespace gart::verify
