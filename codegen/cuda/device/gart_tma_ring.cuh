// The tiles of a product by warpgroups, copied as boxes: a warpgroup of its own does nothing but ask for them. Those that multiply
// neither copy nor wait for one another; they wait for a tile to be there, and tell when it may be overwritten.
#pragma once

#include "gart_tma.cuh"
#include "gart_warpgroup.cuh"

/// An operand of a product as boxes of a tensor: `at` are the coordinates of the block's first row in depth 0.
template <class Tile_, int Rank, int RowDimension, int DepthDimension>
struct gart_tma_tiles {
  typedef Tile_ Tile;
  static constexpr int kBoxRows = Tile::kAlongDepth ? Tile::kRows : 64;
  const GartTensorMap* map;
  int at[Rank];

  void copy(unsigned short* tile, int depth, unsigned long long* barrier) const {
    int corner[Rank];
#pragma unroll
    for (int d = 0; d < Rank; ++d) corner[d] = at[d] + (d == DepthDimension ? depth : 0);
#pragma unroll
    for (int row = 0; row < Tile::kRows; row += kBoxRows) {
      gart_copy_box(tile + row * 64, *map, corner, barrier);
      corner[RowDimension] += kBoxRows;
    }
  }
};

#ifndef GART_EVEN_REGISTERS
#define GART_EVEN_REGISTERS 0
#endif

/// `Groups` warpgroups multiply; the warps after them feed them. With Many > 0 those are a warpgroup that gives registers away,
/// keeping `Few` per thread, so that the others have `Many`. In shared memory: Stages tiles of both operands, then a barrier per
/// stage for "it is full" and one for "it is read".
template <class A, class B, int Stages, int Groups, int Few, int Many>
struct gart_tma_ring {
  static constexpr int kStage = A::Tile::kBytes + B::Tile::kBytes, kDepth = A::Tile::kDepth;
  static constexpr int kMultiplying = 128 * Groups;
  /// setmaxnreg.inc waits until as many registers are free (PTX ISA, setmaxnreg): the assembler sees to it that there are.
  static constexpr bool kShares = Many > 0 && !GART_EVEN_REGISTERS;

  unsigned char* shared;
  int stage = 0, parity = 0;

  /// All threads of the block.
  explicit gart_tma_ring(unsigned char* shared_) : shared(shared_) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int s = 0; s < Stages; ++s) {
        gart_mbarrier_init(full(s), 1);
        gart_mbarrier_init(read(s), 4 * Groups);
      }
      gart_fence_proxy_async();
    }
    __syncthreads();
  }

  unsigned short* left(int s) const { return reinterpret_cast<unsigned short*>(shared + s * kStage); }
  unsigned short* right(int s) const { return reinterpret_cast<unsigned short*>(shared + s * kStage + A::Tile::kBytes); }
  unsigned long long* full(int s) const { return reinterpret_cast<unsigned long long*>(shared + Stages * kStage) + s; }
  unsigned long long* read(int s) const { return full(Stages + s); }
  static bool multiplies() { return threadIdx.x < kMultiplying; }

  void advance() {
    if (++stage < Stages) return;
    stage = 0;
    parity ^= 1;
  }

  /// Those that feed: one thread copies `steps` tiles of both operands, from depth `first` on. Ahead: of gart_copy_first_tiles.
  template <int Ahead>
  void feed(const A& a, const B& b, int first, int steps) {
    if constexpr (kShares) gart_give_registers<Few>();
    const bool copies = threadIdx.x == kMultiplying;
    if (copies && Ahead != 0) {
#pragma unroll 1
      for (int s = 0; s < gart_min(steps, Stages); ++s) {
        gart_mbarrier_expect(full(s), kStage);
        if (Ahead == 1) a.copy(left(s), first + s * kDepth, full(s));
        else b.copy(right(s), first + s * kDepth, full(s));
      }
    }
    gart_await_last_launch();
    if (!copies) return;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      const bool is_new = Ahead == 0 || s >= Stages;
      gart_mbarrier_wait(read(stage), parity ^ 1);  // at first nobody has anything to read
      if (is_new) gart_mbarrier_expect(full(stage), kStage);
      if (is_new || Ahead != 1) a.copy(left(stage), first + s * kDepth, full(stage));
      if (is_new || Ahead != 2) b.copy(right(stage), first + s * kDepth, full(stage));
      advance();
    }
  }

  /// The others, before they have sums.
  static void prepare() {
    if constexpr (kShares) gart_take_registers<Many>();
    gart_await_last_launch();
  }

  /// Adds the products of all tiles. A tile is given back when the next one's products are under way.
  template <class Sums>
  void add(Sums& sums, int steps) {
    int before = 0;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      gart_mbarrier_wait(full(stage), parity);
      sums.begin(left(stage), right(stage));
      gart_wgmma_wait<1>();
      if (s > 0 && threadIdx.x % 32 == 0) gart_mbarrier_arrive(read(before));
      before = stage;
      advance();
    }
    gart_wgmma_wait<0>();
    gart_wgmma_hold(sums.sums);
  }
};
