// Attention for few queries (sm_90a). The blocks of a cluster share the keys. Each block leaves its sums in its shared
// memory; then the blocks read one another's sums and add them in the order of their ranks.
#pragma once

#include "gart_attention_wide.cuh"
#include "gart_cluster.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// One block's results for 64 queries: sums of `Columns` values, largest scores, and sums of weights.
template <int Columns, int Blocks>
struct gart_attention_parts {
  static constexpr int kLine = Columns + 4, kBytes = 64 * (kLine + 2) * 4, kRowsEach = 64 / Blocks;
  float* part;

  explicit gart_attention_parts(unsigned char* at) : part(reinterpret_cast<float*>(at)) {}
  float* most() const { return part + 64 * kLine; }
  float* total() const { return most() + 64; }

  /// Stores the sums of a warp's 16 queries, which its lanes hold.
  template <class Softmax>
  void put(const float (&sums)[Columns / 2], const Softmax& softmax) const {
    const int lane = threadIdx.x % 32, row0 = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float* const line = part + (row0 + h * 8) * kLine + lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < Columns / 8; ++j)
        gart_store(line + j * 8, gart_vector<float, 2>{{sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]}});
      if (lane % 4 == 0) {
        most()[row0 + h * 8] = softmax.most[h];
        total()[row0 + h * 8] = softmax.total[h];
      }
    }
  }

  /// Adds the sums of all blocks, for this block's share of the rows. Calls result(row, column, values, total) for
  /// those rows that are below `rows`, four columns at a time.
  template <class Result>
  void add(int rows, float log2_scale, const Result& result) const {
    constexpr int kFours = Columns / 4;
    const float nothing = -gart_f32_from_bits(0x7f800000u);
    const int first = gart_cluster_rank() * kRowsEach;
#pragma unroll 1
    for (int i = threadIdx.x; i < kRowsEach * kFours; i += 128) {
      const int row = first + i / kFours, column = i % kFours * 4;
      if (row >= rows) return;
      float mosts[Blocks], largest = nothing;
#pragma unroll
      for (int b = 0; b < Blocks; ++b) {
        mosts[b] = gart_load_in_cluster(gart_in_cluster(most() + row, b));
        largest = fmaxf(largest, mosts[b]);
      }
      const float offset = (largest == nothing ? 0.0f : -largest) * log2_scale;
      float values[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sum = 0.0f;
#pragma unroll
      for (int b = 0; b < Blocks; ++b) {
        const float factor = gart_exp2_fast(fmaf(mosts[b], log2_scale, offset));
        const gart_vector<float, 4> other_part = gart_load4_in_cluster(gart_in_cluster(part + row * kLine + column, b));
        sum = fmaf(gart_load_in_cluster(gart_in_cluster(total() + row, b)), factor, sum);
#pragma unroll
        for (int v = 0; v < 4; ++v) values[v] = fmaf(other_part.at[v], factor, values[v]);
      }
      const float by = 1.0f / sum;
#pragma unroll
      for (int v = 0; v < 4; ++v) values[v] *= by;
      result(row, column, values, sum);
    }
  }
};

/// All threads of the cluster must call both functions, warp by warp. After gart_meet_in_cluster, earlier puts of all
/// blocks are visible. gart_leave_cluster waits until all blocks have read them.
inline void gart_meet_in_cluster() {
  __syncwarp();
  gart_cluster_arrive();
  gart_cluster_wait();
}
inline void gart_leave_cluster() {
  __syncwarp();
  gart_cluster_arrive_relaxed();
  gart_cluster_wait();
}

#endif
