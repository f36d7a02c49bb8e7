#include "tests/cuda/sim/engine/tensor_map.h"

#include <cstring>

namespace gart_sim {
namespace {

// As it lies in the map: everything of every valid map fits.
struct Image {
  uint64_t magic, address;
  uint64_t strides[TensorMap::kMostDimensions - 1];
  uint32_t last[TensorMap::kMostDimensions];  // Extents less 1.
  uint8_t last_of_box[TensorMap::kMostDimensions];
  uint8_t rank, element_bytes, swizzle;
  uint32_t checksum;
  uint8_t rest[48];
};
static_assert(sizeof(Image) == TensorMap::kBytes);
constexpr uint64_t kMagic = 0x70616d726f736e74;

uint32_t checksum_of(const Image& image) {
  Image copy = image;
  copy.checksum = 0;
  unsigned char bytes[sizeof copy];
  memcpy(bytes, &copy, sizeof copy);
  uint32_t sum = 2166136261u;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 16777619u;
  return sum;
}

void scramble(unsigned char* bytes) {
  for (unsigned i = 0; i < sizeof(Image); ++i) bytes[i] ^= static_cast<unsigned char>(0x5a + 29 * i);
}

std::string of_dimension(const char* what, unsigned d, uint64_t value, const char* rule) {
  return std::string(what) + " " + std::to_string(d) + " is " + std::to_string(value) + ", " + rule;
}

}  // namespace

unsigned TensorMap::box_bytes() const {
  unsigned bytes = element_bytes;
  for (unsigned d = 0; d < rank; ++d) bytes *= box[d];
  return bytes;
}

std::string TensorMap::problem() const {
  if (address % 16) return "the tensor does not begin at a multiple of 16";
  for (unsigned d = 0; d < rank; ++d) {
    if (extents[d] < 1 || extents[d] > uint64_t{1} << 32) return of_dimension("extent", d, extents[d], "not 1 to 2^32");
    if (box[d] < 1 || box[d] > 256) return of_dimension("the box's extent", d, box[d], "not 1 to 256");
  }
  for (unsigned d = 1; d < rank; ++d) {
    if (strides[d] % 16 || strides[d] >= uint64_t{1} << 40)
      return of_dimension("stride", d, strides[d], "not a multiple of 16 below 2^40");
    if (strides[d] == 0 || (d > 1 && strides[d] % strides[d - 1]))
      return of_dimension("stride", d, strides[d], "not a multiple of the one before it");
  }
  const unsigned line = box[0] * element_bytes;
  if (line % 16) return "a line of the box has " + std::to_string(line) + " bytes, not a multiple of 16";
  if (swizzle && line > swizzle)
    return "a line of the box has " + std::to_string(line) + " bytes, swizzled are " + std::to_string(swizzle);
  return "";
}

void TensorMap::encode(void* map) const {
  Image image = {};
  image.magic = kMagic;
  image.address = address;
  for (unsigned d = 0; d < rank; ++d) {
    if (d > 0) image.strides[d - 1] = strides[d];
    image.last[d] = static_cast<uint32_t>(extents[d] - 1);
    image.last_of_box[d] = static_cast<uint8_t>(box[d] - 1);
  }
  image.rank = static_cast<uint8_t>(rank);
  image.element_bytes = static_cast<uint8_t>(element_bytes);
  image.swizzle = static_cast<uint8_t>(swizzle);
  image.checksum = checksum_of(image);
  memcpy(map, &image, sizeof image);
  scramble(static_cast<unsigned char*>(map));
}

bool TensorMap::decode(const void* map) {
  unsigned char bytes[sizeof(Image)];
  memcpy(bytes, map, sizeof bytes);
  scramble(bytes);
  Image image;
  memcpy(&image, bytes, sizeof image);
  if (image.magic != kMagic || image.checksum != checksum_of(image)) return false;
  address = image.address;
  rank = image.rank;
  element_bytes = image.element_bytes;
  swizzle = image.swizzle;
  for (unsigned d = 0; d < rank; ++d) {
    extents[d] = uint64_t{image.last[d]} + 1;
    strides[d] = d == 0 ? element_bytes : image.strides[d - 1];
    box[d] = image.last_of_box[d] + 1u;
  }
  return true;
}

}  // namespace gart_sim
