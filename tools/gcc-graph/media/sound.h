// Sound files as samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::tools {

struct Sound {
  int64_t frames = 0, channels = 0, rate = 0;  // rate: frames per second
  std::vector<float> samples;                  // -1 to 1, the channels of a frame side by side
};

/// Samples of the longest sound that is read: 93 minutes at 48 kHz, with one channel.
inline constexpr int64_t kMostSamples = int64_t{1} << 28;

/// Throws Error that names the file and the fault.
Sound read_sound(const std::string& path);

}  // namespace gcg::tools
