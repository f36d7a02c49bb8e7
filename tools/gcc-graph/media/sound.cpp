#include "tools/gcc-graph/media/sound.h"

#include <algorithm>
#include <memory>

#include "tools/gcc-graph/support/fail.h"

#if GCC_GRAPH_SNDFILE
#include <sndfile.h>
#endif

namespace gcg::tools {

#if GCC_GRAPH_SNDFILE
/// The vector grows with the samples that are read, because the number in the header may be false.
Sound read_sound(const std::string& path) {
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(sf_open(path.c_str(), SFM_READ, &info), sf_close);
  if (!file) fail("cannot read ", path, ": ", sf_strerror(nullptr));
  Sound sound{0, info.channels, info.samplerate, {}};
  constexpr int64_t kPiece = 1 << 16;  // frames
  for (int64_t got = kPiece; got == kPiece; sound.frames += got) {
    const auto before = static_cast<size_t>(sound.frames * sound.channels);
    if ((sound.frames + kPiece) * sound.channels > kMostSamples)
      fail(path, ": the sound has more than ", kMostSamples, " samples");
    sound.samples.resize(before + static_cast<size_t>(kPiece * sound.channels));
    got = sf_readf_float(file.get(), sound.samples.data() + before, kPiece);
  }
  if (sf_error(file.get()) != SF_ERR_NO_ERROR) fail(path, ": ", sf_strerror(file.get()));
  sound.samples.resize(static_cast<size_t>(sound.frames * sound.channels));
  if (sound.frames == 0) fail(path, ": the sound is empty");
  return sound;
}
#else
Sound read_sound(const std::string& path) {
  fail(path, ": this gcc-graph was built without libsndfile, which reads sound files");
}
#endif

}  // namespace gcg::tools
