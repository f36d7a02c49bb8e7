// sm_90a: a persistent product kernel: each block computes one tile after the other. One thread requests boxes of both
// operands, which are copied to a ring of stages. Each multiplying warpgroup multiplies 64 rows, applies the epilogue,
// and stores boxes of results. Meanwhile the boxes of the next tile are being copied.
//
// Shared memory holds the stages, a staging area of results for each warpgroup, and the barriers. Each stage has the
// barriers "full" and "read". Each set of boxes of a warpgroup has the barrier "the epilogue's inputs are there".
#pragma once

#include "gart_cluster.cuh"
#include "gart_fragment.cuh"
#include "gart_memory.cuh"
#include "gart_tma.cuh"
#include "gart_warp.cuh"
#include "gart_warpgroup.cuh"

#ifndef GART_EVEN_REGISTERS
#define GART_EVEN_REGISTERS 0
#endif

/// The first depth of a step. In a convolution, a step is `Depth` of the `Channels` of one tap; the last step of a tap
/// may have fewer.
template <int Channels, int Depth>
struct gart_tap_depths {
  static constexpr int kBlocks = (Channels + Depth - 1) / Depth;
  static int of(int step) { return step / kBlocks * Channels + step % kBlocks * Depth; }
};
struct gart_plain_depths {
  static int of(int step) { return step * 64; }
};

/// An operand that is copied as boxes of a tensor. `at`: the coordinates of the tile's first row at depth 0.
template <class Tile_, class Depths, int Rank, int RowDimension, int DepthDimension>
struct gart_box_tiles {
  typedef Tile_ Tile;
  static constexpr int kBoxRows = Tile::kAlongDepth ? Tile::kRows : 64;
  const GartTensorMap* map;
  int at[Rank];

  void copy(unsigned short* tile, int step, unsigned long long* barrier) const {
    int corner[Rank];
    const int depth = Depths::of(step);
#pragma unroll
    for (int d = 0; d < Rank; ++d) corner[d] = at[d] + (d == DepthDimension ? depth : 0);
#pragma unroll
    for (int row = 0; row < Tile::kRows; row += kBoxRows) {
      gart_copy_box(tile + row * 64, *map, corner, barrier);
      corner[RowDimension] += kBoxRows;
    }
  }
};

/// The windows of a convolution over images (channels, columns, rows, images). Each position of a tile is one line.
/// `column`, `row` and `image`: where the window of the tile's first position starts.
template <class Tile_, int Channels, int KernelColumns, int ColumnDilation, int RowDilation>
struct gart_window_tiles {
  typedef Tile_ Tile;
  static constexpr int kBlocks = (Channels + Tile::kDepth - 1) / Tile::kDepth;
  const GartTensorMap* map;
  int column, row, image;

  void copy(unsigned short* tile, int step, unsigned long long* barrier) const {
    const int tap = step / kBlocks;
    const int at[4] = {step % kBlocks * Tile::kDepth, column, row, image};
    gart_copy_im2col(tile, *map, at, tap % KernelColumns * ColumnDilation, tap / KernelColumns * RowDilation, barrier);
  }
};

/// The sums of a tile, in the layout of gart_warpgroup_sums.
template <int Columns>
struct gart_tile_sums {
  static constexpr int kRows = 2, kColumns = Columns / 4;
  float sums[Columns / 2];

  static int row(int i) { return threadIdx.x / 32 * 16 + i * 8 + threadIdx.x % 32 / 4; }
  static int column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
  float& sum(int i, int j) { return sums[j / 2 * 4 + i * 2 + j % 2]; }
};

// Boxes of results: 64 lines of 128 bytes. The 16-byte chunk c of line l is at position c ^ l % 8.
struct gart_box_f16 {
  static constexpr int kColumns = 64;
  static unsigned int pack(float low, float high) { return gart_pack_f16(low, high); }
};
struct gart_box_bf16 {
  static constexpr int kColumns = 64;
  static unsigned int pack(float low, float high) { return gart_pack_bf16(low, high); }
};
struct gart_box_f32 {
  static constexpr int kColumns = 32;
};

/// `Groups` warpgroups multiply, with Many registers per thread. One more warpgroup requests boxes, with Few registers
/// per thread. Each multiplying warpgroup has Sets times Buffers boxes of results. With two sets, the epilogue's inputs
/// of the next tile are copied to one set while the other is in use. Extra: bytes of a stage that no box is copied to.
template <class Kind, class A, class B, int Stages, int Groups, int Few, int Many, int Buffers, int Sets, int Extra = 0>
struct gart_tile_loop {
  typedef typename A::Tile Left;
  typedef typename B::Tile Right;
  static constexpr int kColumns = Right::kRows, kBox = 64 * 128;
  static constexpr int kCopied = Left::kBytes + Right::kBytes, kStage = kCopied + Extra;
  static constexpr int kMultiplying = 128 * Groups;
  typedef gart_wgmma<Kind, kColumns, !Left::kAlongDepth, !Right::kAlongDepth> Products;
  typedef gart_tile_sums<kColumns> Sums;
  static constexpr bool kShares = !GART_EVEN_REGISTERS;

  unsigned char* shared;
  int warp;        // all lanes have the same value; the compiler cannot derive that from threadIdx
  bool is_leader;  // true for one thread of each warpgroup
  int stage = 0, parity = 0;
  int ahead = 0;            // boxes of the constant operand that are already requested
  int slot = 0, set = 0;    // the next buffer; the set of boxes that this tile uses
  int awaited = 0;          // bit s: the parity of the next boxes of set s

  /// All threads of the block must call it.
  explicit gart_tile_loop(unsigned char* shared_) : shared(shared_), warp(__shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0)) {
    is_leader = gart_elect_one() && warp % 4 == 0;
    if (is_leader && warp == 0) {
#pragma unroll
      for (int s = 0; s < Stages; ++s) {
        gart_mbarrier_init(full(s), 1);
        gart_mbarrier_init(read(s), 4 * Groups);
      }
#pragma unroll
      for (int i = 0; i < Groups * Sets; ++i) gart_mbarrier_init(barrier(2 * Stages + i), 1);
      gart_mbarrier_init_fence();
    }
    __syncthreads();
  }

  unsigned short* left(int s) const { return reinterpret_cast<unsigned short*>(shared + s * kStage); }
  unsigned short* right(int s) const { return reinterpret_cast<unsigned short*>(shared + s * kStage + Left::kBytes); }
  unsigned char* box(int number) const { return box(set, number); }
  unsigned char* box(int of_set, int number) const {
    return shared + Stages * kStage + ((warp / 4 * Sets + of_set) * Buffers + number) * kBox;
  }
  unsigned long long* barrier(int i) const {
    return reinterpret_cast<unsigned long long*>(shared + Stages * kStage + Groups * Sets * Buffers * kBox) + i;
  }
  unsigned long long* full(int s) const { return barrier(s); }
  unsigned long long* read(int s) const { return barrier(Stages + s); }
  unsigned long long* loaded(int of_set) const { return barrier(2 * Stages + warp / 4 * Sets + of_set); }

  void advance() {
    if (++stage < Stages) return;
    stage = 0;
    parity ^= 1;
  }

  // ---- The warpgroup that requests boxes ---------------------------------------------------------------------------
  bool feeds() const {
    if (warp < kMultiplying / 32) return false;
    if constexpr (kShares) gart_give_registers<Few>();
    return true;
  }
  /// True for the one thread that requests boxes.
  bool asks() const { return is_leader; }

  /// Requests the first boxes of an operand that no launch writes, for the block's first tile. Ahead: 1 is the left
  /// operand, 2 the right one.
  template <int Ahead>
  void feed_ahead(const A& a, const B& b, int first, int steps) {
    ahead = gart_min(steps, Stages);
#pragma unroll 1
    for (int s = 0; s < ahead; ++s) {
      gart_mbarrier_expect(full(s), kCopied);
      if constexpr (Ahead == 1) a.copy(left(s), first + s, full(s));
      else b.copy(right(s), first + s, full(s));
    }
  }
  /// Requests the boxes of the steps of a tile.
  template <int Ahead>
  void feed(const A& a, const B& b, int first, int steps) {
#pragma unroll 1
    for (int s = first; s < first + steps; ++s) {
      gart_mbarrier_wait(read(stage), parity ^ 1);  // returns at once while the stage is still unused
      const bool is_new = Ahead == 0 || ahead == 0;
      if (is_new) gart_mbarrier_expect(full(stage), kCopied);
      if (is_new || Ahead != 1) a.copy(left(stage), s, full(stage));
      if (is_new || Ahead != 2) b.copy(right(stage), s, full(stage));
      if (!is_new) --ahead;
      advance();
    }
  }

  // ---- The multiplying warpgroups ----------------------------------------------------------------------------------
  void prepare() const {
    if constexpr (kShares) gart_take_registers<Many>();
    gart_await_last_launch();
  }

  /// Multiplies the steps of a tile, at least one. Releases a stage when the products of the next one are in flight.
  void multiply(Sums& sums, int steps) {
    const unsigned long long a0 = gart_wgmma_descriptor(left(0) + warp / 4 * 64 * 64, Left::kAlongDepth ? 16 : kBox, 1024);
    const unsigned long long b0 = gart_wgmma_descriptor(right(0), Right::kAlongDepth ? 16 : kBox, 1024);
    const bool releases = threadIdx.x % 32 == 0;
    int before = 0;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      gart_mbarrier_wait(full(stage), parity);
      const unsigned long long a = a0 + stage * (kStage / 16), b = b0 + stage * (kStage / 16);
      gart_wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k)
        Products::ss(sums.sums, a + k * Left::kNextDepths, b + k * Right::kNextDepths, s > 0 || k > 0 ? 1 : 0);
      gart_wgmma_commit();
      gart_wgmma_wait<1>();
      if (s > 0 && releases) gart_mbarrier_arrive(read(before));
      before = stage;
      advance();
    }
    gart_wgmma_wait<0>();
    gart_wgmma_hold(sums.sums);
    if (releases) gart_mbarrier_arrive(read(before));
    __syncwarp();
  }

  // ---- The epilogue's inputs, in the boxes of its results ----------------------------------------------------------
  /// Requests boxes for a set after its last results are stored. Only the leader calls it. Box number `i` begins at
  /// at[0] + i * Columns. Between two calls for a set, the warps of the warpgroup must meet at a barrier.
  template <int Columns, int Rank>
  void ask_for_boxes(const GartTensorMap& map, const int (&at)[Rank], int of_set) {
    gart_store_wait<0>();
    gart_mbarrier_expect(loaded(of_set), Buffers * kBox);
    int corner[Rank];
#pragma unroll
    for (int d = 0; d < Rank; ++d) corner[d] = at[d];
#pragma unroll
    for (int i = 0; i < Buffers; ++i) {
      gart_copy_box(box(of_set, i), map, corner, loaded(of_set));
      corner[0] += Columns;
    }
  }
  /// Waits for the boxes of the current set.
  void await_boxes() {
    gart_mbarrier_wait(loaded(set), awaited >> set & 1);
    awaited ^= 1 << set;
  }
  /// Columns 8 * j + column(0) and the next one, of this thread's row number i, in box number `number`.
  template <class T>
  gart_vector<T, 2> in_box(int number, int i, int j) const {
    return *reinterpret_cast<const gart_vector<T, 2>*>(pair<T>(number, i, j));
  }

  // ---- Results --------------------------------------------------------------------------------------------------------
  /// Waits until a box is free, and returns its number.
  int next_box() {
    if (is_leader) gart_store_wait<Buffers - 1>();
    __syncwarp();
    gart_named_barrier(1 + warp / 4, 128);
    const int number = slot;
    slot = slot + 1 == Buffers ? 0 : slot + 1;
    return number;
  }
  /// Writes the sums of the columns of a chunk to a box.
  template <class Box>
  void put(int number, Sums& sums, int chunk) {
    constexpr int kEights = Box::kColumns / 8;
    if constexpr (kEights == 8) {
      const int lane = threadIdx.x % 32, line = warp % 4 * 16 + lane % 16;
#pragma unroll
      for (int j = 0; j < kEights; j += 2) {
        unsigned int r[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int at = (chunk * kEights + j + e / 2) * 2;
          r[e] = Box::pack(sums.sum(e % 2, at), sums.sum(e % 2, at + 1));
        }
        gart_store_matrices(box(number) + line * 128 + ((j + lane / 16) ^ line % 8) * 16, r[0], r[1], r[2], r[3]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kEights; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at = (chunk * kEights + j) * 2;
          const gart_vector<float, 2> both = {{sums.sum(i, at), sums.sum(i, at + 1)}};
          *reinterpret_cast<gart_vector<float, 2>*>(pair<float>(number, i, j)) = both;
        }
    }
  }
  /// Stores the box after all threads of the warpgroup have written their part.
  template <int Rank>
  void store(int number, const GartTensorMap& map, const int (&at)[Rank]) {
    gart_fence_proxy_async();
    gart_named_barrier(1 + warp / 4, 128);
    if (is_leader) {
      gart_store_box(map, box(number), at);
      gart_store_commit();
    }
    __syncwarp();
  }
  /// Called after the last tile: the block may not end before the stores have read shared memory.
  void finish() const {
    if (Buffers > 0 && is_leader) gart_store_wait<0>();
  }

 private:
  template <class T>
  unsigned char* pair(int number, int i, int j) const {
    const int lane = threadIdx.x % 32, line = warp % 4 * 16 + i * 8 + lane / 4, at = (j * 8 + lane % 4 * 2) * (int)sizeof(T);
    return box(number) + line * 128 + ((at / 16) ^ line % 8) * 16 + at % 16;
  }
};
