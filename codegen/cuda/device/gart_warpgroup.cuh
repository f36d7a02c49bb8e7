// A block's tile of a matrix product by warpgroups. Each warpgroup computes 64 rows and all columns of the tile, and
// multiplies 64 depths per step.
#pragma once

#include "gart_operand.cuh"
#include "gart_wgmma.cuh"

/// A tile in the layout that wgmma reads. Along the depth: lines of 64 elements, where the 16-byte chunk c of line l is
/// at position c ^ l % 8. Across the depth: blocks of 64 rows one after the other, where each depth is a line.
template <int Rows, bool AlongDepth>
struct gart_swizzled_tile {
  typedef unsigned short Element;
  static constexpr int kRows = Rows, kDepth = 64;
  static constexpr bool kAlongDepth = AlongDepth;
  static constexpr int kBytes = Rows * 128;
  static constexpr int kNextDepths = AlongDepth ? 2 : 128;  // advance of a descriptor by 16 depths

  static constexpr int at(int row, int depth) {
    return AlongDepth ? in_line(row, depth) : in_line(row / 64 * 64 + depth, row % 64);
  }
  /// The descriptor of the part that begins at `row`, a multiple of 64.
  static unsigned long long descriptor(const Element* tile, int row) {
    return gart_wgmma_descriptor(tile + row * 64, 64 * 128, 1024);
  }

 private:
  static constexpr int in_line(int line, int position) {
    return line * 64 + (position / 8 ^ line % 8) * 8 + position % 8;
  }
};

/// Sums of a block of `Groups` warpgroups.
template <class Kind, class A, class B, int Groups, int Columns>
struct gart_warpgroup_sums {
  typedef typename A::Tile Left;
  typedef typename B::Tile Right;
  typedef gart_wgmma<Kind, Columns, !Left::kAlongDepth, !Right::kAlongDepth> Products;
  static constexpr int kThreads = 128 * Groups;
  static constexpr int kRows = 2, kColumns = Columns / 4;
  float sums[Columns / 2];

  gart_warpgroup_sums() {
#pragma unroll
    for (int i = 0; i < Columns / 2; ++i) sums[i] = 0.0f;
  }

  static int row(int i) { return threadIdx.x / 32 * 16 + i * 8 + threadIdx.x % 32 / 4; }
  static int column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
  float& sum(int i, int j) { return sums[j / 2 * 4 + i * 2 + j % 2]; }

  /// Starts the products of two tiles, which are added to the sums.
  void begin(const unsigned short* a_tile, const unsigned short* b_tile) {
    // All lanes of a warp have the same value. The compiler cannot derive that from threadIdx.
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
    const unsigned long long a = Left::descriptor(a_tile, group * 64), b = Right::descriptor(b_tile, 0);
    gart_wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k)
      Products::ss(sums, a + k * Left::kNextDepths, b + k * Right::kNextDepths, 1);
    gart_wgmma_commit();
  }
};

/// As gart_add_products. While a tile is multiplied, the tile Stages - 2 steps later is copied. Every thread has
/// already waited for the products of the tile that the copy overwrites.
template <int Stages, int Ahead, class A, class B, class Sums>
void gart_add_wide_products(A& a, B& b, Sums& sums, unsigned char* shared, int first, int steps) {
  constexpr int kStage = A::Tile::kBytes + B::Tile::kBytes, kDepth = A::Tile::kDepth, kAhead = Stages - 2;
  static_assert(kAhead >= 1, "three stages at least");
  const auto left = [&](int stage) { return reinterpret_cast<unsigned short*>(shared + stage * kStage); };
  const auto right = [&](int stage) { return reinterpret_cast<unsigned short*>(shared + stage * kStage + A::Tile::kBytes); };
  gart_transfer<A> copy_a;
  gart_transfer<B> copy_b;
  a.seek(first);
  b.seek(first);
  gart_copy_first_tiles<kAhead, Ahead>(a, b, copy_a, copy_b, left, right, first, steps);
  int reading = 0, writing = kAhead;
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    gart_cp_async_wait<kAhead - 1>();
    // cp.async writes through the generic proxy, and wgmma reads through the async proxy (PTX ISA, "Async proxy"). So
    // every tile needs a fence.
    gart_fence_proxy_async();
    __syncthreads();
    const bool is_more = s + kAhead < steps;
    if (is_more) {
      const int k = first + (s + kAhead) * kDepth;
      copy_a.begin(a, left(writing), k);
      copy_b.begin(b, right(writing), k);
      a.advance();
      b.advance();
    }
    gart_cp_async_commit();
    sums.begin(left(reading), right(reading));
    if (is_more) {
      copy_a.end(left(writing));
      copy_b.end(right(writing));
    }
    gart_wgmma_wait<1>();
    reading = reading + 1 == Stages ? 0 : reading + 1;
    writing = writing + 1 == Stages ? 0 : writing + 1;
  }
  gart_wgmma_wait<0>();
  gart_wgmma_hold(sums.sums);
}
