#include "tools/gcc-graph/media/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

void check_picture_size(const std::string& where, uint64_t width, uint64_t height) {
  if (width == 0 || height == 0) fail(where, ": the picture is empty");
  if (height > uint64_t{kMostPixels} / width)
    fail(where, ": the picture has ", width, " x ", height, " pixels; at most ", kMostPixels, " are read");
}

Image read_image(const std::string& where, std::span<const uint8_t> file) {
  constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G'}, kJpeg[] = {0xff, 0xd8, 0xff};
  const auto begins = [&](std::span<const uint8_t> magic) {
    return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
  };
  if (begins(kPng)) return decode_png(where, file);
  if (begins(kJpeg)) return decode_jpeg(where, file);
  fail(where, ": it is not a PNG or JPEG file");
}

Image with_channels(const Image& image, int64_t channels) {
  if (image.channels == channels) return image;
  Image out{image.width, image.height, channels, {}};
  const auto pixels = static_cast<size_t>(image.width * image.height);
  out.bytes.reserve(pixels * static_cast<size_t>(channels));
  const auto step = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* from = &image.bytes[i * step];
    const uint8_t red = from[0], green = step > 1 ? from[1] : red, blue = step > 1 ? from[2] : red;
    constexpr uint32_t kRed = 19595, kGreen = 38470, kBlue = 7471, kHalf = 1 << 15;  // 0.299, 0.587, 0.114 of 2^16
    if (channels == 1) {
      out.bytes.push_back(step == 1 ? red : uint8_t((red * kRed + green * kGreen + blue * kBlue + kHalf) >> 16));
      continue;
    }
    out.bytes.insert(out.bytes.end(), {red, green, blue});
    if (channels == 4) out.bytes.push_back(255);
  }
  return out;
}

Image centre_crop(const Image& image, int64_t width, int64_t height) {
  int64_t w = image.width, h = image.height;
  if (w * height > h * width)
    w = std::max<int64_t>(1, h * width / height);
  else
    h = std::max<int64_t>(1, w * height / width);
  Image out{w, h, image.channels, {}};
  const int64_t left = (image.width - w) / 2, top = (image.height - h) / 2;
  const auto row = static_cast<size_t>(w * image.channels);
  out.bytes.resize(row * static_cast<size_t>(h));
  for (int64_t y = 0; y < h; ++y)
    std::memcpy(&out.bytes[static_cast<size_t>(y) * row],
                &image.bytes[static_cast<size_t>(((top + y) * image.width + left) * image.channels)], row);
  return out;
}

namespace {

constexpr int kFraction = 22;  // bits of a weight

/// The pixels from which one result is computed, and their weights.
struct Window {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Window> windows(int64_t from, int64_t to) {
  std::vector<Window> out(static_cast<size_t>(to));
  const double scale = double(from) / double(to), support = std::max(scale, 1.0);
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (double(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    const int64_t last = std::min(from, static_cast<int64_t>(centre + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      weights.push_back(std::max(0.0, 1 - std::abs((double(x) - centre + 0.5) * (1 / support))));
      sum += weights.back();
    }
    Window& window = out[static_cast<size_t>(i)];
    window.first = first;
    for (const double w : weights) window.weights.push_back(static_cast<int32_t>(0.5 + w / sum * (1 << kFraction)));
  }
  return out;
}

/// Resizes one line of pixels, whose elements are `from_step` bytes apart, and `to_step` bytes in the result.
void resize_line(const uint8_t* from, size_t from_step, uint8_t* to, size_t to_step, const std::vector<Window>& all) {
  for (const Window& window : all) {
    int64_t sum = 1 << (kFraction - 1);
    const uint8_t* at = from + static_cast<size_t>(window.first) * from_step;
    for (const int32_t weight : window.weights) {
      sum += int64_t{*at} * weight;
      at += from_step;
    }
    *to = static_cast<uint8_t>(std::min<int64_t>(sum >> kFraction, 255));
    to += to_step;
  }
}

Image resized_rows(const Image& image, int64_t width) {
  Image out{width, image.height, image.channels, {}};
  out.bytes.resize(static_cast<size_t>(width * image.height * image.channels));
  const std::vector<Window> all = windows(image.width, width);
  const auto step = static_cast<size_t>(image.channels);
  for (size_t y = 0; y < static_cast<size_t>(image.height); ++y)
    for (size_t c = 0; c < step; ++c)
      resize_line(&image.bytes[y * static_cast<size_t>(image.width) * step + c], step,
                  &out.bytes[y * static_cast<size_t>(width) * step + c], step, all);
  return out;
}

Image resized_columns(const Image& image, int64_t height) {
  Image out{image.width, height, image.channels, {}};
  const auto row = static_cast<size_t>(image.width * image.channels);
  out.bytes.resize(row * static_cast<size_t>(height));
  const std::vector<Window> all = windows(image.height, height);
  for (size_t x = 0; x < row; ++x) resize_line(&image.bytes[x], row, &out.bytes[x], row, all);
  return out;
}

}  // namespace

Image resized(const Image& image, int64_t width, int64_t height) {
  check_picture_size("the resized picture", static_cast<uint64_t>(width), static_cast<uint64_t>(height));
  check_picture_size("the resized picture", static_cast<uint64_t>(width), static_cast<uint64_t>(image.height));
  const Image rows = width == image.width ? image : resized_rows(image, width);
  return height == image.height ? rows : resized_columns(rows, height);
}

}  // namespace gcg::tools
