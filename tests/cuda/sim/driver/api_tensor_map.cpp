// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, with every rule that cuda.h states for them.
#include "tests/cuda/sim/driver/work.h"
#include "tests/cuda/sim/engine/tensor_map.h"

using namespace gart_sim;

namespace {

// Bytes of an element, indexed by CUtensorMapDataType.
constexpr unsigned kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr unsigned kSwizzledBytes[] = {0, 32, 64, 128};

// Checks the arguments that both functions share. Returns the fault, or "" if the arguments are valid; then the map has
// everything but the box.
struct Common {
  void* out;
  int type;
  unsigned rank;
  void* address;
  const uint64_t *extents, *strides;
  const unsigned* steps;
  int interleave, swizzle, promotion, fill;
};
std::string common_problem(const Common& c, TensorMap& map) {
  if (World::get().sm < 90) return "this device has no tensor maps";
  if (!c.out || reinterpret_cast<uint64_t>(c.out) % 64) return "no place for the map, or it is not 64-aligned";
  if (!c.address || !c.extents || !c.strides || !c.steps) return "an argument is null";
  if (c.type < 0 || static_cast<size_t>(c.type) >= std::size(kElementBytes))
    return "element type " + std::to_string(c.type) + " is none";
  if (c.rank < 1 || c.rank > TensorMap::kMostDimensions) return std::to_string(c.rank) + " dimensions";
  if (c.interleave != 0) return "interleaved tensors are not simulated";
  if (c.swizzle < 0 || static_cast<size_t>(c.swizzle) >= std::size(kSwizzledBytes))
    return "swizzle " + std::to_string(c.swizzle) + " is none that is simulated";
  if (c.promotion < 0 || c.promotion > 3 || c.fill != 0) return "no such promotion, or fill";
  map.address = reinterpret_cast<uint64_t>(c.address);
  map.rank = c.rank;
  map.element_bytes = kElementBytes[c.type];
  map.swizzle = kSwizzledBytes[c.swizzle];
  for (unsigned d = 0; d < c.rank; ++d) {
    map.extents[d] = c.extents[d];
    map.strides[d] = d == 0 ? map.element_bytes : c.strides[d - 1];
    map.steps[d] = d == 0 ? 1 : c.steps[d];  // the driver ignores the first step
  }
  return "";
}

}  // namespace

GART_SIM_API cuTensorMapEncodeTiled(void* out, int type, unsigned rank, void* address, const uint64_t* extents,
                                    const uint64_t* strides, const unsigned* box, const unsigned* steps, int interleave,
                                    int swizzle, int promotion, int fill) {
  GART_SIM_CALL("cuTensorMapEncodeTiled", Call::initialized);
  TensorMap map;
  std::string problem =
      common_problem({out, type, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill}, map);
  if (problem.empty() && !box) problem = "no box";
  for (unsigned d = 0; d < rank && problem.empty(); ++d) map.box[d] = box[d];
  if (problem.empty()) problem = map.problem();
  if (!problem.empty()) return call.misuse(problem);
  map.encode(out);
  return 0;
}

GART_SIM_API cuTensorMapEncodeIm2col(void* out, int type, unsigned rank, void* address, const uint64_t* extents,
                                     const uint64_t* strides, const int* lower, const int* upper, unsigned channels,
                                     unsigned pixels, const unsigned* steps, int interleave, int swizzle, int promotion,
                                     int fill) {
  GART_SIM_CALL("cuTensorMapEncodeIm2col", Call::initialized);
  TensorMap map;
  std::string problem =
      common_problem({out, type, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill}, map);
  if (problem.empty() && (!lower || !upper)) problem = "no corners";
  if (!problem.empty()) return call.misuse(problem);
  map.is_im2col = true;
  map.pixels = pixels;
  map.box[0] = channels;
  for (unsigned d = 1; d < rank; ++d) map.box[d] = 1;
  for (unsigned d = 0; d + 2 < rank; ++d) {
    map.lower[d] = lower[d];
    map.upper[d] = upper[d];
  }
  problem = map.problem();
  if (!problem.empty()) return call.misuse(problem);
  map.encode(out);
  return 0;
}
