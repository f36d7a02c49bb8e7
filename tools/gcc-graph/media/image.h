// Pictures as bytes: decoded from PNG and JPEG files, cropped and resized.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcg::tools {

/// Rows from the top, pixels from the left, channels of a pixel side by side: grey, RGB or RGBA.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<uint8_t> bytes;
};

/// Pixels of the largest picture that is read: 16,384 x 8,192. A small file can claim a picture that fills the memory.
inline constexpr int64_t kMostPixels = int64_t{1} << 27;

/// Throws Error if a picture of this size is not read. `where` names the file.
void check_picture_size(const std::string& where, uint64_t width, uint64_t height);

/// Decodes a file by its first bytes. Throws Error that names `where` and the fault.
Image read_image(const std::string& where, std::span<const uint8_t> file);
Image decode_png(const std::string& where, std::span<const uint8_t> file);
Image decode_jpeg(const std::string& where, std::span<const uint8_t> file);

/// Grey becomes RGB by repetition, RGB becomes grey by ITU-R 601's weights, and alpha is dropped or opaque. `channels`:
/// 1, 3 or 4. The bytes are those of Pillow's Image.convert.
Image with_channels(const Image& image, int64_t channels);

/// The largest part in the middle whose sides have the ratio width : height.
Image centre_crop(const Image& image, int64_t width, int64_t height);

/// Bilinear; if the picture becomes smaller, each result is the weighted mean of all pixels that it covers. Rows
/// are resized first. The bytes differ by at most 1 from those of Pillow's Image.resize with BILINEAR, which chooses
/// the order of the two passes by the sizes.
Image resized(const Image& image, int64_t width, int64_t height);

}  // namespace gcg::tools
