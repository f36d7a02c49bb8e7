// The input of a convolution as the right operand of a matrix product: column j is an output position, counted over the
// images of the batch, row k a tap and a channel.
#pragma once

#include "gart_operand.cuh"

/// A convolution's window, in three spatial dimensions; those that a convolution has not are of extent 1.
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

/// Lines run along output positions. Vector > 1 needs taps that are never outside, stride 1 along the whole image and a
/// multiple of Vector positions: a pointwise convolution (`Inside`).
template <class Conversion, class Window, class Tile, int Threads, int Vector, bool Inside>
struct gart_patches : gart_chunks<Conversion, Tile, Threads, Vector> {
  typedef gart_chunks<Conversion, Tile, Threads, Vector> Chunks;
  typedef typename Conversion::Source Source;
  static constexpr bool kWholeTaps = Window::kTaps == 1 || Window::kChannels % Tile::kDepth == 0;  // a tile lies within one tap
  static_assert(!Tile::kAlongDepth, "lines run along positions");

  const Source* from;  // the window's first element in this thread's image and group
  gart_extents input;
  int d0, h0, w0;         // where the window begins
  bool column_exists;
  int tap_channel = 0, tap_d = 0, tap_h = 0, tap_w = 0;  // kWholeTaps: of the tile that comes next

  gart_patches(const Source* x, const gart_extents& input_, const gart_extents& output, const gart_extents& pad,
               long long image_stride, int first_column, int columns)
      : input(input_) {
    const unsigned int column = first_column + Chunks::position();
    column_exists = (int)column < columns;
    const unsigned int ow = column % (unsigned int)output.w, rest_h = column / (unsigned int)output.w;
    const unsigned int oh = rest_h % (unsigned int)output.h, rest_d = rest_h / (unsigned int)output.h;
    const unsigned int od = rest_d % (unsigned int)output.d, image = rest_d / (unsigned int)output.d;
    d0 = (int)od * Window::kStrideD - pad.d;
    h0 = (int)oh * Window::kStrideH - pad.h;
    w0 = (int)ow * Window::kStrideW - pad.w;
    from = x + image * image_stride + ((long long)d0 * input.h + h0) * input.w + w0;
  }

  /// Makes `k`, a multiple of Depth, the tile that comes next.
  void seek(int k) {
    tap_channel = k % Window::kChannels;
    const int tap = k / Window::kChannels;
    tap_w = tap % Window::kKernelW;
    tap_h = tap / Window::kKernelW % Window::kKernelH;
    tap_d = tap / (Window::kKernelW * Window::kKernelH);
  }
  void advance() {
    tap_channel += Tile::kDepth;
    if (tap_channel < Window::kChannels) return;
    tap_channel = 0;
    if (++tap_w < Window::kKernelW) return;
    tap_w = 0;
    if (++tap_h < Window::kKernelH) return;
    tap_h = 0;
    ++tap_d;
  }

  bool is_inside(int d, int h, int w) const {
    return Inside || ((unsigned int)(d0 + d) < (unsigned int)input.d && (unsigned int)(h0 + h) < (unsigned int)input.h &&
                      (unsigned int)(w0 + w) < (unsigned int)input.w);
  }
  long long offset(int channel, int d, int h, int w) const {
    return (long long)channel * input.volume() + ((long long)d * input.h + h) * input.w + w;
  }

  const Source* chunk(int i, int k, bool& exists) const {
    if (kWholeTaps) {
      const int d = tap_d * Window::kDilationD, h = tap_h * Window::kDilationH, w = tap_w * Window::kDilationW;
      exists = column_exists && is_inside(d, h, w) && k + Chunks::depth(i) < Window::kDepth;
      return from + offset(tap_channel + Chunks::depth(0), d, h, w) + (long long)i * Chunks::kStep * input.volume();
    }
    const unsigned int at = k + Chunks::depth(i), tap = at / Window::kChannels;
    const int d = tap / (Window::kKernelW * Window::kKernelH) * Window::kDilationD;
    const int h = tap / Window::kKernelW % Window::kKernelH * Window::kDilationH;
    const int w = tap % Window::kKernelW * Window::kDilationW;
    exists = column_exists && at < (unsigned int)Window::kDepth && is_inside(d, h, w);
    return from + offset(at % Window::kChannels, d, h, w);
  }
};
