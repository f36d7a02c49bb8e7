// Products with a matrix of few lines (the "few" operand). Each element of the other operand (the "many") is read once,
// with several reads in flight, each of 16 bytes where alignment allows. The order of summation depends on the shape
// alone. Ahead: no launch writes the many operand, so its first elements are read before the previous launch ends.
#pragma once

#include "gart_group.cuh"
#include "gart_operand.cuh"

/// The dot product of line `few` and line `many`. If `few` < 0, this thread has no sum.
struct gart_dot {
  float sum;
  int few, many;
};

/// An operand with `lines` lines: element (line, k) is at[line * line_stride + k * depth_stride]. Conversion converts
/// elements to f32.
template <class Conversion_>
struct gart_lines {
  typedef Conversion_ Conversion;
  typedef typename Conversion::Source Source;
  const Source* at;
  long long line_stride, depth_stride;
  int lines;

  /// Reads `Vector` depths, which are neighbours, or else `stride` elements apart.
  template <int Vector, bool Neighbours>
  static gart_vector<Source, Vector> read(const Source* from, long long stride) {
    if constexpr (Neighbours) return gart_load<Vector>(from);
    gart_vector<Source, Vector> v;
#pragma unroll
    for (int e = 0; e < Vector; ++e) v.at[e] = from[e * stride];
    return v;
  }
};

/// For a many operand that runs along the depth. The lanes of a warp share the depth, Vector elements per access.
/// Computes the sums over [first, end) of the few operand's lines and the Each lines of `many` from `first_line` on.
/// The warp's first Few * Each lanes get one sum each. FewNeighbours: the few operand also runs along the depth, and is
/// read with the same vector length.
template <int Few, int Each, int Vector, bool FewNeighbours, int Unroll, bool Ahead, class FewLines, class ManyLines>
gart_dot gart_dot_along_depth(const FewLines& few, const ManyLines& many, int first_line, int first, int end) {
  typedef typename ManyLines::Source Source;
  const int lane = threadIdx.x % 32;
  float sums[Few][Each] = {};
  const Source* lines[Each];
#pragma unroll
  for (int j = 0; j < Each; ++j) lines[j] = many.at + (long long)gart_min(first_line + j, many.lines - 1) * many.line_stride;
  gart_vector<Source, Vector> values[Unroll][Each];
  const auto read = [&](int k0) {
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
#pragma unroll
      for (int j = 0; j < Each; ++j) {
        const int k = k0 + u * 32 * Vector;
#pragma unroll
        for (int e = 0; e < Vector; ++e) values[u][j].at[e] = 0;
        if (k < end) values[u][j] = gart_load<Vector>(lines[j] + k);
      }
  };
  const int begin = first + lane * Vector;
  if (Ahead) read(begin);
  gart_await_last_launch();
#pragma unroll 1
  for (int k0 = begin; k0 < end; k0 += 32 * Vector * Unroll) {
    if (!Ahead || k0 != begin) read(k0);
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int k = k0 + u * 32 * Vector;
      if (k >= end) break;
#pragma unroll
      for (int i = 0; i < Few; ++i) {
        const auto factor = FewLines::template read<Vector, FewNeighbours>(few.at + i * few.line_stride + k * few.depth_stride,
                                                                           few.depth_stride);
#pragma unroll
        for (int j = 0; j < Each; ++j)
#pragma unroll
          for (int e = 0; e < Vector; ++e)
            sums[i][j] = fmaf(FewLines::Conversion::of(factor.at[e]), ManyLines::Conversion::of(values[u][j].at[e]), sums[i][j]);
      }
    }
  }
  gart_dot result = {0.0f, -1, 0};
#pragma unroll
  for (int i = 0; i < Few; ++i)
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      const float sum = gart_warp_reduce<32, gart_op_sum>(sums[i][j]);
      if (lane == i * Each + j && first_line + j < many.lines) {
        result.sum = sum;
        result.few = i;
        result.many = first_line + j;
      }
    }
  return result;
}

/// For a many operand that runs along its lines. A block takes 32 lines, Vector per access, and its warps share the
/// depth. Each of the first Few * 32 threads gets a sum over [first, end). `shared`: Warps * Few * 32 floats.
template <int Few, int Vector, int Warps, int Unroll, bool Ahead, class FewLines, class ManyLines>
gart_dot gart_dot_along_lines(const FewLines& few, const ManyLines& many, int first_line, int first, int end, float* shared) {
  typedef typename ManyLines::Source Source;
  constexpr int kLanes = 32 / Vector;  // lanes that read the same depth
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int position = lane % kLanes * Vector;
  const bool exists = first_line + position < many.lines;
  const Source* column = many.at + (exists ? first_line + position : 0);
  float sums[Few][Vector] = {};
  gart_vector<Source, Vector> values[Unroll];
  const auto read = [&](int k0) {
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int k = k0 + u * Vector * Warps;
#pragma unroll
      for (int e = 0; e < Vector; ++e) values[u].at[e] = 0;
      if (k < end) values[u] = gart_load<Vector>(column + k * many.depth_stride);
    }
  };
  const int begin = first + warp * Vector + lane / kLanes;
  if (Ahead) read(begin);
  gart_await_last_launch();
#pragma unroll 1
  for (int k0 = begin; k0 < end; k0 += Vector * Warps * Unroll) {
    if (!Ahead || k0 != begin) read(k0);
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int k = k0 + u * Vector * Warps;
      if (k >= end) break;
#pragma unroll
      for (int i = 0; i < Few; ++i) {
        const float factor = FewLines::Conversion::of(few.at[i * few.line_stride + k * few.depth_stride]);
#pragma unroll
        for (int e = 0; e < Vector; ++e) sums[i][e] = fmaf(factor, ManyLines::Conversion::of(values[u].at[e]), sums[i][e]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < Few; ++i)
#pragma unroll
    for (int e = 0; e < Vector; ++e) {
#pragma unroll
      for (int mask = kLanes; mask < 32; mask *= 2) sums[i][e] += gart_shuffle_xor(sums[i][e], mask);
      if (lane < kLanes) shared[(warp * Few + i) * 32 + position + e] = sums[i][e];
    }
  __syncthreads();
  gart_dot result = {0.0f, -1, 0};
  const int line = first_line + threadIdx.x % 32;
  if (threadIdx.x >= Few * 32 || line >= many.lines) return result;
#pragma unroll
  for (int w = 0; w < Warps; ++w) result.sum += shared[w * Few * 32 + threadIdx.x];
  result.few = threadIdx.x / 32;
  result.many = line;
  return result;
}
