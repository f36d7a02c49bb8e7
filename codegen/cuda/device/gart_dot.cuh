// Products with a matrix of few lines (the "few" operand): every element of the other one (the "many") is read once, by 16
// bytes where it lies so, with several reads under way; sums in an order that depends on nothing but the shape.
#pragma once

#include "gart_group.cuh"
#include "gart_memory.cuh"

/// One sum, of line `few` and line `many`; there is none where few < 0.
struct gart_dot {
  float sum;
  int few, many;
};

/// An operand: element (line, k) lies at[line * line_stride + k * depth_stride]; `lines` of them.
struct gart_lines {
  const float* at;
  long long line_stride, depth_stride;
  int lines;
};

template <int Vector>
gart_vector<float, Vector> gart_read_depths(const float* from, long long stride) {
  gart_vector<float, Vector> v;
#pragma unroll
  for (int e = 0; e < Vector; ++e) v.at[e] = from[e * stride];
  return v;
}

/// `many` runs along the depth, which a warp shares, Vector at a time. Sums over [first, end) of Few x Each lines from
/// `first_line` on; they go to the warp's first lanes. FewVector: reads of the few operand.
template <int Few, int Each, int Vector, int FewVector, int Unroll>
gart_dot gart_dot_along_depth(const gart_lines& few, const gart_lines& many, int first_line, int first, int end) {
  const int lane = threadIdx.x % 32;
  float sums[Few][Each] = {};
  const float* lines[Each];
#pragma unroll
  for (int j = 0; j < Each; ++j) lines[j] = many.at + (long long)gart_min(first_line + j, many.lines - 1) * many.line_stride;
#pragma unroll 1
  for (int k0 = first + lane * Vector; k0 < end; k0 += 32 * Vector * Unroll) {
    gart_vector<float, Vector> values[Unroll][Each];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
#pragma unroll
      for (int j = 0; j < Each; ++j) {
        const int k = k0 + u * 32 * Vector;
#pragma unroll
        for (int e = 0; e < Vector; ++e) values[u][j].at[e] = 0.0f;
        if (k < end) values[u][j] = gart_load<Vector>(lines[j] + k);
      }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int k = k0 + u * 32 * Vector;
      if (k >= end) break;
#pragma unroll
      for (int i = 0; i < Few; ++i) {
        const float* from = few.at + i * few.line_stride + k * few.depth_stride;
        gart_vector<float, Vector> factor;
        if (FewVector == Vector) factor = gart_load<Vector>(from);
        else factor = gart_read_depths<Vector>(from, few.depth_stride);
#pragma unroll
        for (int j = 0; j < Each; ++j)
#pragma unroll
          for (int e = 0; e < Vector; ++e) sums[i][j] = fmaf(factor.at[e], values[u][j].at[e], sums[i][j]);
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

/// `many` runs along its lines, of which a block takes 32, Vector at a time; its warps share the depth. Sums over
/// [first, end) go to the first Few * 32 threads. `shared`: Warps * Few * 32 floats.
template <int Few, int Vector, int Warps, int Unroll>
gart_dot gart_dot_along_lines(const gart_lines& few, const gart_lines& many, int first_line, int first, int end,
                              float* shared) {
  constexpr int kLanes = 32 / Vector;  // of a depth
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int position = lane % kLanes * Vector;
  const bool exists = first_line + position < many.lines;
  const float* column = many.at + (exists ? first_line + position : 0);
  float sums[Few][Vector] = {};
#pragma unroll 1
  for (int k0 = first + warp * Vector + lane / kLanes; k0 < end; k0 += Vector * Warps * Unroll) {
    gart_vector<float, Vector> values[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int k = k0 + u * Vector * Warps;
#pragma unroll
      for (int e = 0; e < Vector; ++e) values[u].at[e] = 0.0f;
      if (k < end) values[u] = gart_load<Vector>(column + k * many.depth_stride);
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int k = k0 + u * Vector * Warps;
      if (k >= end) break;
#pragma unroll
      for (int i = 0; i < Few; ++i) {
        const float factor = few.at[i * few.line_stride + k * few.depth_stride];
#pragma unroll
        for (int e = 0; e < Vector; ++e) sums[i][e] = fmaf(factor, values[u].at[e], sums[i][e]);
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
