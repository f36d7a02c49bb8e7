// cuTensorMapEncodeTiled, with every rule that cuda.h states for it.
#include "tests/cuda/sim/driver/work.h"
#include "tests/cuda/sim/engine/tensor_map.h"

using namespace gart_sim;

namespace {

// By CUtensorMapDataType: bytes of an element.
constexpr unsigned kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr unsigned kSwizzledBytes[] = {0, 32, 64, 128};

}  // namespace

GART_SIM_API cuTensorMapEncodeTiled(void* out, int type, unsigned rank, void* address, const uint64_t* extents,
                                    const uint64_t* strides, const unsigned* box, const unsigned* steps, int interleave,
                                    int swizzle, int promotion, int fill) {
  GART_SIM_CALL("cuTensorMapEncodeTiled", Call::initialized);
  if (world.sm < 90) return call.misuse("this device has no tensor maps");
  if (!out || reinterpret_cast<uint64_t>(out) % 64) return call.misuse("no place for the map, or it is not 64-aligned");
  if (!address || !extents || !strides || !box || !steps) return call.misuse("an argument is null");
  if (type < 0 || static_cast<size_t>(type) >= std::size(kElementBytes))
    return call.misuse("element type " + std::to_string(type) + " is none");
  if (rank < 1 || rank > TensorMap::kMostDimensions) return call.misuse(std::to_string(rank) + " dimensions");
  if (interleave != 0) return call.misuse("interleaved tensors are not simulated");
  if (swizzle < 0 || static_cast<size_t>(swizzle) >= std::size(kSwizzledBytes))
    return call.misuse("swizzle " + std::to_string(swizzle) + " is none that is simulated");
  if (promotion < 0 || promotion > 3 || fill != 0) return call.misuse("no such promotion, or fill");
  TensorMap map{reinterpret_cast<uint64_t>(address), rank, kElementBytes[type], kSwizzledBytes[swizzle]};
  for (unsigned d = 0; d < rank; ++d) {
    if (steps[d] != 1) return call.misuse("element strides other than 1 are not simulated");
    map.extents[d] = extents[d];
    map.strides[d] = d == 0 ? map.element_bytes : strides[d - 1];
    map.box[d] = box[d];
  }
  if (const std::string problem = map.problem(); !problem.empty()) return call.misuse(problem);
  map.encode(out);
  return 0;
}
