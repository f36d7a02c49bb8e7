#include "runtime/cuda/graphs/tensor_maps.h"

#include <algorithm>
#include <bit>

#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cuda {
namespace {

/// Indexed by the logarithm of an element's bytes; elements are copied unchanged, whatever their type.
constexpr CUtensorMapDataType kTypes[] = {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16,
                                          CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_DATA_TYPE_UINT64};

constexpr uint32_t kNone = UINT32_MAX;

/// Returns the index of the first number that the driver or the buffer does not allow. `numbers`: the tensor's offset,
/// extents, and all strides but the first, in elements of `element` bytes. `bytes`: the buffer's size.
uint32_t first_wrong(const int64_t* numbers, uint32_t rank, uint32_t element, const void* data, int64_t bytes) {
  const auto is_size = [&](int64_t elements) {
    const uint64_t size = static_cast<uint64_t>(elements);  // a negative number becomes enormous
    return size <= uint64_t{kMaxMapStride} / element && size * element % kMapAlignment == 0;
  };
  if (!is_size(numbers[0]) || reinterpret_cast<uint64_t>(data) % kMapAlignment != 0) return 0;
  double end = double(numbers[0] + 1);  // in elements; in a valid map it is far below 2^53
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t extent = numbers[1 + d], stride = d == 0 ? 1 : numbers[rank + d];
    if (d > 0 && !is_size(stride)) return rank + d;
    end += (double(extent) - 1) * double(stride);
    if (static_cast<uint64_t>(extent) - 1 >= uint64_t{kMaxMapExtent} || end > double(bytes / element)) return 1 + d;
  }
  return kNone;
}

/// True if the images are too small for any position of the convolution's window.
bool has_no_place(const fb::TensorMap& map, const int64_t* extents) {
  for (uint32_t d = 0; d < count_of(map.lower()); ++d)
    if (extents[1 + d] <= int64_t{map.lower()->Get(d)} - map.upper()->Get(d)) return true;
  return false;
}

/// Throws Failure naming the step. A tensor without elements, or without a position for a window, needs no map, because
/// nothing is copied from it.
void encode(Device& device, const std::string& step, const fb::TensorMap& map, const int64_t* numbers, uint8_t* data,
            int64_t bytes, CUtensorMap& out) {
  const uint32_t rank = count_of(map.box());
  const uint32_t element = map_element_bytes(map.dtype());
  uint64_t extents[kMaxMapRank], strides[kMaxMapRank];
  uint32_t steps[kMaxMapRank];
  if (has_no_place(map, numbers + 1)) return;
  for (uint32_t d = 0; d < rank; ++d) {
    if (numbers[1 + d] == 0) return;
    extents[d] = static_cast<uint64_t>(numbers[1 + d]);
    strides[d] = static_cast<uint64_t>(numbers[rank + d]) * element;  // the driver does not read the first stride
    steps[d] = map_step(map, d);
  }
  if (const uint32_t i = first_wrong(numbers, rank, element, data, bytes); i != kNone) {
    fail(ErrorCode::invalid_artifact, step, " copies boxes of operand ", map.operand(), ", where number ", i,
         " of offset, extents, strides is ", numbers[i],
         ": extents are 1 to 2^32, strides and addresses multiples of 16 bytes below 2^40, "
         "all within ",
         bytes);
  }
  const CUtensorMapDataType type = kTypes[std::countr_zero(element)];
  const auto swizzle = static_cast<CUtensorMapSwizzle>(map.swizzle());
  uint8_t* const first = data + numbers[0] * element;
  if (map.kind() == fb::MapKind::im2col) {
    device.check(device.driver.cuTensorMapEncodeIm2col(
                     &out, type, rank, first, extents, strides + 1, map.lower()->data(), map.upper()->data(),
                     map.box()->Get(0), map.pixels(), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "cuTensorMapEncodeIm2col", step);
    return;
  }
  device.check(
      device.driver.cuTensorMapEncodeTiled(&out, type, rank, first, extents, strides + 1, map.box()->data(), steps,
                                           CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled", step);
}

}  // namespace

void TensorMaps::add_to(std::vector<void*>& pointers, const PlanStep& step) {
  const uint32_t maps = count_of(step.manifest->maps());
  if (maps != 0) maps_.reset(new Encoded[maps]);
  for (uint32_t i = 0; i < maps; ++i) pointers.push_back(&maps_[i].map);
}

bool TensorMaps::refresh(Device& device, const Plan& plan, const BoundPlan& bound, uint32_t index) {
  const PlanStep& step = plan.steps[index];
  const BoundStep& now = bound.step(index);
  const int64_t* numbers = now.params + plan.manifest->kernels()->Get(step.manifest->kernel())->params();
  bool changed = false;
  for (uint32_t i = 0; i < count_of(step.manifest->maps()); ++i) {
    const fb::TensorMap& map = *step.manifest->maps()->Get(i);
    Encoded& encoded = maps_[i];
    void* const data = now.operands[map.operand()];
    const size_t count = map_params(map);
    if (encoded.data != data || !std::equal(numbers, numbers + count, encoded.numbers)) {
      encode(device, steps_text(plan, index, index + 1), map, numbers, static_cast<uint8_t*>(data),
             bound.bytes(plan.operands[step.first_operand + map.operand()]), encoded.map);
      std::copy(numbers, numbers + count, encoded.numbers);
      encoded.data = data;
      changed = true;
    }
    numbers += count;
  }
  return changed;
}

}  // namespace gart::cuda
