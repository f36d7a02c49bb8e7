// The input of a convolution as an operand of a matrix product. Line j is an output position, numbered over all images
// of the batch. Depth k is a tap and a channel.
#pragma once

#include "gart_operand.cuh"

/// A convolution's window in three spatial dimensions; missing dimensions have extent 1.
template <int KernelD, int KernelH, int KernelW, int StrideD, int StrideH, int StrideW, int DilationD, int DilationH,
          int DilationW, int Channels>
struct gart_window {
  static constexpr int kKernelH = KernelH, kKernelW = KernelW;
  static constexpr int kStrideD = StrideD, kStrideH = StrideH, kStrideW = StrideW;
  static constexpr int kDilationD = DilationD, kDilationH = DilationH, kDilationW = DilationW;
  static constexpr int kChannels = Channels;  // of one group
  static constexpr int kTaps = KernelD * KernelH * KernelW;
  static constexpr int kDepth = kTaps * Channels;
};

struct gart_extents {
  int d, h, w;
  long long volume() const { return (long long)d * h * w; }
};

/// A depth: an offset within the window, and a channel of the group.
struct gart_tap {
  int d, h, w, channel;
};

/// The position among taps and channels of the tile that is copied next. A tile has `Depth` depths.
template <class Window, int Depth>
struct gart_taps {
  // True if each tile lies within one tap.
  static constexpr bool kWhole = Window::kTaps == 1 || Window::kChannels % Depth == 0;
  int channel = 0, d = 0, h = 0, w = 0;

  /// Goes to the tile that begins at `k`, a multiple of Depth.
  void seek(int k) {
    channel = k % Window::kChannels;
    const int tap = k / Window::kChannels;
    w = tap % Window::kKernelW;
    h = tap / Window::kKernelW % Window::kKernelH;
    d = tap / (Window::kKernelW * Window::kKernelH);
  }
  void advance() {
    channel += Depth;
    if (channel < Window::kChannels) return;
    channel = 0;
    if (++w < Window::kKernelW) return;
    w = 0;
    if (++h < Window::kKernelH) return;
    h = 0;
    ++d;
  }
  /// The tap of depth `within` of the tile that is copied next, which begins at `k`.
  gart_tap at(int k, int within) const {
    if (Window::kTaps == 1) return {0, 0, 0, k + within};
    if (kWhole) return {d * Window::kDilationD, h * Window::kDilationH, w * Window::kDilationW, channel + within};
    const unsigned int depth = k + within, tap = depth / Window::kChannels;
    return {(int)(tap / (Window::kKernelW * Window::kKernelH)) * Window::kDilationD,
            (int)(tap / Window::kKernelW % Window::kKernelH) * Window::kDilationH,
            (int)(tap % Window::kKernelW) * Window::kDilationW, (int)(depth % Window::kChannels)};
  }
};

/// Where the window of an output position starts in the input.
struct gart_window_start {
  int image, d, h, w;

  gart_window_start() {}
  template <class Window>
  static gart_window_start of(unsigned int position, const gart_extents& output, const gart_extents& pad) {
    const unsigned int ow = position % (unsigned int)output.w, rest_h = position / (unsigned int)output.w;
    const unsigned int oh = rest_h % (unsigned int)output.h, rest_d = rest_h / (unsigned int)output.h;
    const unsigned int od = rest_d % (unsigned int)output.d;
    gart_window_start start;
    start.image = (int)(rest_d / (unsigned int)output.d);
    start.d = (int)od * Window::kStrideD - pad.d;
    start.h = (int)oh * Window::kStrideH - pad.h;
    start.w = (int)ow * Window::kStrideW - pad.w;
    return start;
  }
  /// Offset of the start in the image, in elements; it may be outside.
  long long offset(const gart_extents& input) const { return ((long long)d * input.h + h) * input.w + w; }
  bool is_inside(const gart_tap& tap, const gart_extents& input) const {
    return (unsigned int)(d + tap.d) < (unsigned int)input.d && (unsigned int)(h + tap.h) < (unsigned int)input.h &&
           (unsigned int)(w + tap.w) < (unsigned int)input.w;
  }
};

/// An input [N, C, spatial...], whose lines run along output positions. Vector > 1 requires a pointwise convolution
/// (`Inside`): no tap is outside, the stride is 1 along the whole image, and the number of positions is a multiple of
/// Vector. `Channels`: the number of channels of all groups together.
template <class Conversion, class Window, class Tile, int Threads, int Vector, bool Inside, int Channels>
struct gart_patches : gart_chunks<Conversion, Tile, Threads, Vector> {
  typedef gart_chunks<Conversion, Tile, Threads, Vector> Chunks;
  typedef typename Conversion::Source Source;
  static_assert(!Tile::kAlongDepth, "lines run along positions");

  const Source* from;  // the first element of the window, in this thread's image and group
  gart_extents input;
  gart_window_start start;
  bool position_exists;
  gart_taps<Window, Tile::kDepth> taps;

  gart_patches(const Source* x, const gart_extents& input_, const gart_extents& output, const gart_extents& pad,
               int first_position, int positions)
      : input(input_) {
    const unsigned int position = first_position + Chunks::position();
    position_exists = (int)position < positions;
    start = gart_window_start::of<Window>(position, output, pad);
    from = x + start.image * (input.volume() * Channels) + start.offset(input);
  }

  void seek(int k) { taps.seek(k); }
  void advance() { taps.advance(); }

  long long offset(const gart_tap& tap) const {
    return tap.channel * input.volume() + ((long long)tap.d * input.h + tap.h) * input.w + tap.w;
  }
  const Source* chunk(int i, int k, bool& exists) const {
    const gart_tap tap = taps.at(k, Chunks::depth(taps.kWhole ? 0 : i));
    exists = position_exists && (Inside || start.is_inside(tap, input)) && k + Chunks::depth(i) < Window::kDepth;
    return from + offset(tap) + (taps.kWhole ? (long long)i * Chunks::kStep * input.volume() : 0);
  }
};

/// An input [N, spatial..., C], whose lines run along channels. Vector divides the channels of a group.
template <class Conversion, class Window, class Tile, int Threads, int Vector, bool Inside, int Channels>
struct gart_channels_last_patches : gart_chunks<Conversion, Tile, Threads, Vector> {
  typedef gart_chunks<Conversion, Tile, Threads, Vector> Chunks;
  typedef typename Conversion::Source Source;
  static_assert(Tile::kAlongDepth, "lines run along channels");
  static_assert(Window::kChannels % Vector == 0, "a chunk lies within one tap");

  const Source* x;
  int first[Chunks::kCount];  // for each line of this thread: where its window starts, numbered over all images
  gart_window_start start[Chunks::kCount];
  gart_extents input;
  int positions;  // positions from this tile's first one on
  gart_taps<Window, Tile::kDepth> taps;

  gart_channels_last_patches(const Source* x_, const gart_extents& input_, const gart_extents& output, const gart_extents& pad,
                             int first_position, int position_count)
      : x(x_), input(input_), positions(position_count - first_position) {
#pragma unroll
    for (int i = 0; i < Chunks::kCount; ++i) {
      start[i] = gart_window_start::of<Window>(first_position + Chunks::row(i), output, pad);
      first[i] = (int)(start[i].image * input.volume() + start[i].offset(input));
    }
  }

  void seek(int k) { taps.seek(k); }
  void advance() { taps.advance(); }

  const Source* chunk(int i, int k, bool& exists) const {
    const gart_tap tap = taps.at(k, Chunks::depth(i));
    exists = Chunks::row(i) < positions && (Inside || start[i].is_inside(tap, input)) && k + Chunks::depth(i) < Window::kDepth;
    return x + (long long)(first[i] + (tap.d * input.h + tap.h) * input.w + tap.w) * Channels + tap.channel;
  }
};
