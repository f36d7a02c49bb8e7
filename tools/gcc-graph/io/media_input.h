// --input NAME=photo.jpg and NAME=voice.wav: pictures and sounds as tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/host_tensor.h"

namespace CLI {
class App;
}

namespace gcg::tools {

struct MediaOptions {
  std::vector<double> mean, std;  // --image-mean, --image-std: one number, or one per channel
  std::optional<double> scale;    // --image-scale
  std::string layout;             // --image-layout: chw or hwc; "": by the input's extents
  std::string fit = "stretch";    // --image-fit
  int64_t rate = 0;               // --audio-rate; 0: any

  void add_to(CLI::App& command);
  /// Fails if an option is given that changes nothing, because no --input is a picture or a sound.
  void check_use(bool has_pictures, bool has_sounds) const;
};

/// True if the file's name ends like those of pictures or sounds: .png, .jpg, .jpeg, .wav, .flac, in any case.
bool is_media(const std::string& path);
bool is_sound(const std::string& path);

/// `extents`: of the input; nullopt for those that the file decides. Throws Error that names the input, the file and
/// the fault.
HostTensor media_tensor(const gart::TensorInfo& info, const std::vector<std::optional<int64_t>>& extents,
                        const std::string& path, const MediaOptions& options);

}  // namespace gcg::tools
