#include "tests/cuda/sim/engine/tensor_map.h"

#include <cstring>

namespace gart_sim {
namespace {

// The layout in the map's bytes; every field of every valid map fits.
struct Image {
  uint64_t magic, address;
  uint64_t strides[TensorMap::kMostDimensions - 1];
  uint32_t last[TensorMap::kMostDimensions];  // extents less 1
  uint8_t last_of_box[TensorMap::kMostDimensions];
  uint8_t rank, element_bytes, swizzle;
  uint32_t checksum;
  uint8_t steps[TensorMap::kMostDimensions], is_im2col;
  uint16_t pixels;
  int16_t lower[TensorMap::kMostDimensions - 2], upper[TensorMap::kMostDimensions - 2];
  uint8_t rest[28];
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

unsigned TensorMap::lines() const {
  unsigned lines = is_im2col ? pixels : 1;
  for (unsigned d = 1; d < rank && !is_im2col; ++d) lines *= count(d);
  return lines;
}

// The rules of cuTensorMapEncodeIm2col that cuTensorMapEncodeTiled does not have.
std::string TensorMap::window_problem() const {
  if (rank < 3) return std::to_string(rank) + " dimensions, images have 3 at least";
  if (pixels < 1 || pixels > 1024) return std::to_string(pixels) + " pixels of a box, not 1 to 1024";
  const int least = rank == 3 ? -(1 << 15) : rank == 4 ? -(1 << 7) : -(1 << 4);
  for (unsigned d = 0; d < rank - 2; ++d) {
    for (const int corner : {lower[d], upper[d]})
      if (corner < least || corner >= -least) return "a corner is " + std::to_string(corner);
    const int64_t places = static_cast<int64_t>(extents[d + 1]) + upper[d] - lower[d];
    if (places < 1) return "the window has no place in dimension " + std::to_string(d + 1);
  }
  return "";
}

std::string TensorMap::problem() const {
  if (address % 16) return "the tensor does not begin at a multiple of 16";
  for (unsigned d = 0; d < rank; ++d) {
    if (extents[d] < 1 || extents[d] > uint64_t{1} << 32) return of_dimension("extent", d, extents[d], "not 1 to 2^32");
    if (box[d] < 1 || box[d] > 256) return of_dimension("the box's extent", d, box[d], "not 1 to 256");
    if (steps[d] < 1 || steps[d] > 8 || (d == 0 && steps[d] != 1))
      return of_dimension("the step", d, steps[d], "not 1 to 8, or 1 where elements are contiguous");
  }
  for (unsigned d = 1; d < rank; ++d) {
    if (strides[d] % 16 || strides[d] >= uint64_t{1} << 40)
      return of_dimension("stride", d, strides[d], "not a multiple of 16 below 2^40");
    if (strides[d] == 0 || (d > 1 && strides[d] % strides[d - 1]))
      return of_dimension("stride", d, strides[d], "not a multiple of the one before it");
  }
  if (is_im2col) {
    if (std::string problem = window_problem(); !problem.empty()) return problem;
  }
  const unsigned line = line_bytes();
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
    image.steps[d] = static_cast<uint8_t>(steps[d]);
  }
  image.is_im2col = is_im2col;
  image.pixels = static_cast<uint16_t>(pixels);
  for (unsigned d = 0; d < kMostDimensions - 2; ++d) {
    image.lower[d] = static_cast<int16_t>(lower[d]);
    image.upper[d] = static_cast<int16_t>(upper[d]);
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
    steps[d] = image.steps[d];
  }
  is_im2col = image.is_im2col != 0;
  pixels = image.pixels;
  for (unsigned d = 0; d < kMostDimensions - 2; ++d) {
    lower[d] = image.lower[d];
    upper[d] = image.upper[d];
  }
  return true;
}

}  // namespace gart_sim
