// sm_90a: one tile of a product, whose depth the blocks of a cluster share: each block multiplies a range of steps and
// leaves its sums in its shared memory. Then block r adds the sums of all blocks for its share of the rows, in the
// order of the blocks. So the bits depend on the shape alone.
//
// One thread requests the boxes of both operands. If an operand is constant, it requests a ring full of its boxes
// before the previous launch ends.
#pragma once

#include "gart_cluster.cuh"
#include "gart_tma.cuh"
#include "gart_warp.cuh"
#include "gart_warpgroup.cuh"

/// A and B have a type Tile and a function copy(tile, step, barrier). A stage holds `Depths` steps of both operands.
/// Across: true if sums are added and stored along the rows of A, false if along the rows of B.
template <class Kind, class A, class B, int Stages, int Depths, int Splits, bool Across>
struct gart_cluster_sums {
  typedef typename A::Tile Left;
  typedef typename B::Tile Right;
  static constexpr int kRows = Left::kRows, kColumns = Right::kRows, kGroups = kRows / 64;
  static constexpr int kMultiplying = 128 * kGroups, kStage = Depths * (Left::kBytes + Right::kBytes);
  // Distance of lines, in floats. The padding avoids bank conflicts, and allows accesses of 16 bytes unless Across.
  static constexpr int kPitch = Across ? kColumns + 1 : kColumns + 8;
  static constexpr int kSums = (kRows * kPitch * 4 + 1023) / 1024 * 1024;
  static constexpr int kBarriers = Stages * kStage > kSums ? Stages * kStage : kSums;
  static constexpr int kVector = Across ? 1 : 4;  // how many sums a thread adds at once
  static constexpr int kMine = kRows / Splits * kColumns / kVector;
  typedef gart_wgmma<Kind, kColumns, !Left::kAlongDepth, !Right::kAlongDepth> Products;

  unsigned char* shared;
  int warp;  // all lanes have the same value; the compiler cannot derive that from threadIdx
  int rank;

  /// All threads of the block must call it.
  explicit gart_cluster_sums(unsigned char* shared_)
      : shared(shared_), warp(__shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0)), rank(0) {
    if constexpr (Splits > 1) rank = gart_cluster_rank();
    if (warp == 0 && gart_elect_one()) {
#pragma unroll
      for (int s = 0; s < Stages; ++s) {
        gart_mbarrier_init(full(s), 1);
        gart_mbarrier_init(read(s), 4 * kGroups);
      }
      gart_mbarrier_init_fence();
    }
    __syncthreads();
  }

  unsigned short* left(int s, int i) const { return reinterpret_cast<unsigned short*>(shared + s * kStage + i * Left::kBytes); }
  unsigned short* right(int s, int i) const {
    return reinterpret_cast<unsigned short*>(shared + s * kStage + Depths * Left::kBytes + i * Right::kBytes);
  }
  unsigned long long* full(int s) const { return reinterpret_cast<unsigned long long*>(shared + kBarriers) + s; }
  unsigned long long* read(int s) const { return full(Stages + s); }
  float* sum_at(int row, int column) const { return reinterpret_cast<float*>(shared) + row * kPitch + column; }

  /// Adds the products of `steps` steps of 64 depths. Afterwards the sums of all blocks are in shared memory. Ahead:
  /// the operand that no launch writes (1: left, 2: right); 0 if launches may write both.
  template <int Ahead>
  void multiply(const A& a, const B& b, int steps) {
    const int stages = (steps + Depths - 1) / Depths, each = (stages + Splits - 1) / Splits;
    const int first = rank * each, count = gart_max(0, gart_min(each, stages - first));
    if (warp == kMultiplying / 32) {
      feed<Ahead>(a, b, first, count);
    } else {
      add(count);
    }
    if constexpr (Splits > 1) {
      gart_cluster_arrive();
      gart_cluster_wait();
    } else {
      __syncthreads();
    }
  }

  static bool adds() { return threadIdx.x < kMultiplying; }
  /// The row, in the tile, of element number i of this block's share.
  int row(int i) const {
    constexpr int kSlice = kRows / Splits;
    return rank * kSlice + (Across ? i % kSlice : i / (kColumns / 4));
  }
  int column(int i) const { return Across ? i / (kRows / Splits) : i % (kColumns / 4) * 4; }
  gart_vector<float, kVector> sum(int row, int column) const {
    gart_vector<float, kVector> v = gart_fill<kVector>(0.0f);
#pragma unroll
    for (int r = 0; r < Splits; ++r) {
      const gart_vector<float, kVector> part = sum_of(sum_at(row, column), r);
#pragma unroll
      for (int e = 0; e < kVector; ++e) v.at[e] += part.at[e];
    }
    return v;
  }
  /// All threads must call it at the end, because other blocks may still read this block's sums.
  void leave() const {
    if constexpr (Splits > 1) {
      __syncwarp();
      gart_cluster_arrive_relaxed();
      gart_cluster_wait();
    }
  }

 private:
  static gart_vector<float, kVector> sum_of(const float* at, int block) {
    if constexpr (Splits == 1) return gart_load<kVector>(at);
    else if constexpr (Across) return {{gart_load_in_cluster(gart_in_cluster(at, block))}};
    else return gart_load4_in_cluster(gart_in_cluster(at, block));
  }

  template <int Ahead>
  void feed(const A& a, const B& b, int first, int count) const {
    const int ahead = Ahead == 0 ? 0 : gart_min(count, Stages);
    const bool asks = gart_elect_one();
    if (asks) {
#pragma unroll 1
      for (int s = 0; s < ahead; ++s) {
        gart_mbarrier_expect(full(s), kStage);
        copy<Ahead == 1, Ahead == 2>(a, b, s, first + s);
      }
    }
    gart_await_last_launch();
    if (asks) feed_rest<Ahead>(a, b, first, count, ahead);
    __syncwarp();
  }
  template <int Ahead>
  void feed_rest(const A& a, const B& b, int first, int count, int ahead) const {
#pragma unroll 1
    for (int s = 0; s < ahead; ++s) copy<Ahead == 2, Ahead == 1>(a, b, s, first + s);
    int stage = ahead == Stages ? 0 : ahead, parity = ahead == Stages ? 0 : 1;
#pragma unroll 1
    for (int s = ahead; s < count; ++s) {
      gart_mbarrier_wait(read(stage), parity);  // returns at once while the stage is still unused
      gart_mbarrier_expect(full(stage), kStage);
      copy<true, true>(a, b, stage, first + s);
      if (++stage == Stages) stage = 0, parity ^= 1;
    }
  }
  /// Steps beyond the end of the depth become zeros.
  template <bool OfLeft, bool OfRight>
  void copy(const A& a, const B& b, int stage, int step) const {
#pragma unroll
    for (int i = 0; i < Depths; ++i) {
      if (OfLeft) a.copy(left(stage, i), step * Depths + i, full(stage));
      if (OfRight) b.copy(right(stage, i), step * Depths + i, full(stage));
    }
  }

  void add(int count) const {
    gart_await_last_launch();
    float sums[kColumns / 2];
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) sums[i] = 0.0f;
    const unsigned long long a0 = Left::descriptor(left(0, 0), warp / 4 * 64), b0 = Right::descriptor(right(0, 0), 0);
    const int lane = threadIdx.x % 32;
    int stage = 0, parity = 0, before = 0;
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      gart_mbarrier_wait(full(stage), parity);
      const unsigned long long a = a0 + stage * (kStage / 16), b = b0 + stage * (kStage / 16);
      gart_wgmma_fence();
#pragma unroll
      for (int i = 0; i < Depths; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          Products::ss(sums, a + i * (Left::kBytes / 16) + k * Left::kNextDepths,
                       b + i * (Right::kBytes / 16) + k * Right::kNextDepths, 1);
      gart_wgmma_commit();
      gart_wgmma_wait<1>();
      if (s > 0 && lane == 0) gart_mbarrier_arrive(read(before));
      before = stage;
      if (++stage == Stages) stage = 0, parity ^= 1;
    }
    gart_wgmma_wait<0>();
    gart_wgmma_hold(sums);
    gart_named_barrier(1, kMultiplying);  // after this, no thread reads the ring, and its memory may hold sums
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float* const to = sum_at(warp * 16 + h * 8 + lane / 4, j * 8 + lane % 4 * 2);
        if constexpr (Across) {
          to[0] = sums[j * 4 + h * 2];
          to[1] = sums[j * 4 + h * 2 + 1];
        } else {
          gart_store(to, gart_vector<float, 2>{{sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]}});
        }
      }
  }
};
