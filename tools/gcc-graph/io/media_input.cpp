#include "tools/gcc-graph/io/media_input.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/media/image.h"
#include "tools/gcc-graph/media/sound.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Extents = std::vector<std::optional<int64_t>>;

std::string ending_of(const std::string& path) {
  std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

bool is_float(gart::DType t) {
  return t == gart::DType::f32 || t == gart::DType::f64 || t == gart::DType::f16 || t == gart::DType::bf16;
}

std::string text_of(const Extents& extents) {
  std::string text;
  for (const std::optional<int64_t>& e : extents)
    text += concat(text.empty() ? "" : ", ", e ? std::to_string(*e) : "?");
  return "[" + text + "]";
}

/// Writes a number as an element of a float type.
void put(gart::DType dtype, double value, uint8_t* to) {
  std::array<char, 40> text = {};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  if (!gcc_graph::parse_element(static_cast<gcc_graph::DType>(dtype), std::string(text.begin(), end), to))
    fail("a value of the file does not fit into ", gart::name_of(dtype));
}

/// The axes of an input that takes one picture.
struct Axes {
  size_t height = 0, width = 0;
  std::optional<size_t> channels;
};

Axes axes_of(const Extents& extents, const std::string& where, const std::string& layout) {
  const size_t rank = extents.size();
  if (rank < 2 || rank > 4)
    fail(where, ": a picture needs an input of rank 2 to 4, but the input has the shape ", text_of(extents));
  if (rank == 4 && extents[0].value_or(1) != 1)
    fail(where, ": the input takes ", *extents[0], " pictures at a time; give them as one .npy file");
  if (rank == 2) return {0, 1, std::nullopt};
  const auto may_be_channels = [&](size_t axis) {
    return extents[axis] == 1 || extents[axis] == 3 || extents[axis] == 4;
  };
  const bool chw = layout == "chw" || (layout.empty() && may_be_channels(rank - 3));
  const bool hwc = layout == "hwc" || (layout.empty() && may_be_channels(rank - 1));
  if (chw == hwc)
    fail(where, ": the shape ", text_of(extents), " does not tell which axis has the channels; use --image-layout chw ",
         "or hwc");
  return chw ? Axes{rank - 2, rank - 1, rank - 3} : Axes{rank - 3, rank - 2, rank - 1};
}

/// The picture in the size and with the channels that the input takes.
Image fitted(Image image, const Extents& extents, const Axes& axes, const std::string& where,
             const MediaOptions& options) {
  const int64_t own = image.channels == 1 ? 1 : 3;
  const int64_t channels = axes.channels ? extents[*axes.channels].value_or(own) : 1;
  if (channels != 1 && channels != 3 && channels != 4)
    fail(where, ": the input has ", channels, " channels; expected 1, 3 or 4");
  image = with_channels(image, channels);
  const int64_t height = extents[axes.height].value_or(image.height), width = extents[axes.width].value_or(image.width);
  if (height < 1 || width < 1) fail(where, ": the input has the shape ", text_of(extents), ", which has no pixels");
  if (options.fit == "crop") image = centre_crop(image, width, height);
  return resized(image, width, height);
}

/// The elements for the 256 values of a byte in one channel.
std::vector<uint8_t> elements_of_bytes(gart::DType dtype, double scale, double mean, double std) {
  const size_t size = gart::size_of(dtype);
  std::vector<uint8_t> out(256 * size);
  for (size_t i = 0; i < 256; ++i) put(dtype, (double(i) * scale - mean) / std, &out[i * size]);
  return out;
}

double of_channel(const std::vector<double>& list, size_t channel, double otherwise, int64_t channels,
                  const char* option) {
  if (list.empty()) return otherwise;
  if (list.size() != 1 && list.size() != static_cast<size_t>(channels))
    fail(option, ": ", list.size(), " numbers for ", channels, " channels; expected 1 or ", channels);
  return list[list.size() == 1 ? 0 : channel];
}

HostTensor image_tensor(const gart::TensorInfo& info, const Extents& extents, const std::string& path,
                        const MediaOptions& o) {
  const std::string where = concat("--input ", info.name, "=", path);
  const bool is_bytes = info.dtype == gart::DType::u8;
  if (!is_bytes && !is_float(info.dtype))
    fail(where, ": a picture needs an input of floats or u8, but the input is ", info.text());
  if (is_bytes && (!o.mean.empty() || !o.std.empty() || o.scale))
    fail(where, ": --image-mean, --image-std and --image-scale need an input of floats, but the input is ",
         info.text());
  const Axes axes = axes_of(extents, where, o.layout);
  const Image image = fitted(read_image(path, read_file(path)), extents, axes, where, o);
  HostTensor out{info.dtype, std::vector<int64_t>(extents.size(), 1), {}};
  out.shape[axes.height] = image.height;
  out.shape[axes.width] = image.width;
  if (axes.channels) out.shape[*axes.channels] = image.channels;
  const size_t size = gart::size_of(info.dtype);
  out.bytes.resize(image.bytes.size() * size);
  const auto channels = static_cast<size_t>(image.channels), pixels = image.bytes.size() / channels;
  const bool is_planar = axes.channels && *axes.channels < axes.height;
  for (size_t c = 0; c < channels; ++c) {
    std::vector<uint8_t> table;
    if (!is_bytes)
      table = elements_of_bytes(info.dtype, o.scale.value_or(1 / 255.0),
                                of_channel(o.mean, c, 0, image.channels, "--image-mean"),
                                of_channel(o.std, c, 1, image.channels, "--image-std"));
    for (size_t i = 0; i < pixels; ++i) {
      const uint8_t byte = image.bytes[i * channels + c];
      uint8_t* to = &out.bytes[(is_planar ? c * pixels + i : i * channels + c) * size];
      if (is_bytes)
        *to = byte;
      else
        std::copy_n(&table[byte * size], size, to);
    }
  }
  return out;
}

/// Where a sound's channels and frames go: [frames], [channels, frames] or [1, channels, frames].
HostTensor sound_tensor(const gart::TensorInfo& info, const Extents& extents, const std::string& path,
                        const MediaOptions& o) {
  const std::string where = concat("--input ", info.name, "=", path);
  if (!is_float(info.dtype) && info.dtype != gart::DType::i16)
    fail(where, ": a sound needs an input of floats or i16, but the input is ", info.text());
  const size_t rank = extents.size();
  if (rank < 1 || rank > 3)
    fail(where, ": a sound needs an input of rank 1 to 3, but the input has the shape ", text_of(extents));
  if (rank == 3 && extents[0].value_or(1) != 1)
    fail(where, ": the input takes ", *extents[0], " sounds at a time; give them as one .npy file");
  const Sound sound = read_sound(path);
  if (o.rate != 0 && sound.rate != o.rate)
    fail(where, ": the sound has ", sound.rate, " samples per second, but --audio-rate is ", o.rate);
  const int64_t channels = rank == 1 ? 1 : extents[rank - 2].value_or(sound.channels);
  if (channels != sound.channels)
    fail(where, ": the sound's number of channels is ", sound.channels, ", but the input takes ", channels);
  if (const int64_t frames = extents[rank - 1].value_or(sound.frames); frames != sound.frames)
    fail(where, ": the sound has ", sound.frames, " samples, but the input takes ", frames);
  HostTensor out{info.dtype, std::vector<int64_t>(rank, 1), {}};
  out.shape[rank - 1] = sound.frames;
  if (rank > 1) out.shape[rank - 2] = channels;
  const size_t size = gart::size_of(info.dtype);
  out.bytes.resize(sound.samples.size() * size);
  for (size_t i = 0; i < sound.samples.size(); ++i) {
    const size_t frame = i / static_cast<size_t>(channels), channel = i % static_cast<size_t>(channels);
    uint8_t* to = &out.bytes[(channel * static_cast<size_t>(sound.frames) + frame) * size];
    if (info.dtype == gart::DType::f32)
      std::copy_n(reinterpret_cast<const uint8_t*>(&sound.samples[i]), size, to);
    else if (info.dtype != gart::DType::i16)
      put(info.dtype, double{sound.samples[i]}, to);
    else {
      const auto whole = static_cast<int16_t>(std::clamp(sound.samples[i] * 32768.0F, -32768.0F, 32767.0F));
      std::copy_n(reinterpret_cast<const uint8_t*>(&whole), size, to);
    }
  }
  return out;
}

}  // namespace

void MediaOptions::add_to(CLI::App& c) {
  c.add_option("--image-mean", mean,
               "For pictures: subtracted after --image-scale; one number, or one per channel, as 0.485,0.456,0.406")
      ->delimiter(',');
  c.add_option("--image-std", std, "For pictures: the divisor after --image-mean; one number, or one per channel")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  c.add_option("--image-scale", scale, "For pictures: the factor of their bytes (default for floats: 1/255)");
  c.add_option("--image-layout", layout, "For pictures: chw or hwc, if the input's shape does not tell")
      ->check(CLI::IsMember({"chw", "hwc"}));
  c.add_option("--image-fit", fit,
               "For pictures of another size than the input: stretch, or crop, which cuts the longer side first")
      ->check(CLI::IsMember({"stretch", "crop"}))
      ->capture_default_str();
  c.add_option("--audio-rate", rate, "For sounds: refuse a file with another number of samples per second")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
}

void MediaOptions::check_use(bool has_pictures, bool has_sounds) const {
  const bool has_options = !mean.empty() || !std.empty() || scale || !layout.empty() || fit != "stretch";
  if (has_options && !has_pictures) fail("an option --image-... is given, but no --input is a picture");
  if (rate != 0 && !has_sounds) fail("--audio-rate is given, but no --input is a sound");
}

bool is_sound(const std::string& path) { return ending_of(path) == ".wav" || ending_of(path) == ".flac"; }

bool is_media(const std::string& path) {
  const std::string ending = ending_of(path);
  return is_sound(path) || ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

HostTensor media_tensor(const gart::TensorInfo& info, const Extents& extents, const std::string& path,
                        const MediaOptions& options) {
  return is_sound(path) ? sound_tensor(info, extents, path, options) : image_tensor(info, extents, path, options);
}

}  // namespace gcg::tools
