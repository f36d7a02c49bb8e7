// Attention by warpgroups on sm_90a. wgmma computes the scores and the sums of values. Queries, keys and values are
// copied as boxes. The scores of the next block of keys are computed while the weights of the current block multiply
// values, so the softmax overlaps with a product. Weights stay in registers, because a fragment of scores already has
// the layout of a left factor.
//
// Blocks of keys are processed from the last to the first. The range of keys that a query sees may move with the query.
// So only the first processed blocks (and, for windows, the last ones) need a comparison per score; separate loops
// process them. Blocks that no query of a tile sees are skipped.
#pragma once

#include "gart_attention_tiles.cuh"
#include "gart_register_pressure.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// `Groups` warpgroups multiply, 64 queries each; the warps after them request boxes. `Depth` (of scores) and `Columns`
/// (of values) are multiples of 8. `Keys` (per step) is a multiple of 16. Few, Many: registers of each thread that
/// requests boxes, and of each that multiplies; 0 keeps the number at entry. Turns: warpgroups start their products one
/// after the other, so that their softmaxes run at different times.
template <class Kind, class Half, class Tiles, int Depth, int Columns, int Keys, int Groups, int Few, int Many, bool Turns>
struct gart_attention_wide {
  static constexpr int kQueries = 64 * Groups, kMultiplying = 128 * Groups, kStages = 2;
  static constexpr int kDepthChunks = (Depth + 63) / 64, kValueChunks = (Columns + 63) / 64;
  static constexpr int kQueryBytes = kQueries * 128 * kDepthChunks;
  static constexpr int kKeyBytes = Keys * 128 * kDepthChunks, kValueBytes = Keys * 128 * kValueChunks;
  static constexpr int kKeysAt = kQueryBytes, kValuesAt = kKeysAt + kStages * kKeyBytes;
  static constexpr int kStagingAt = kValuesAt + kStages * kValueBytes, kBarriersAt = kStagingAt + 4 * Groups * kGartStagingBytes;
  static constexpr int kBytes = kBarriersAt + 8 * (4 * kStages + 2);
  typedef gart_softmax<Keys> Softmax;
  static constexpr bool kShares = Many > 0 && !GART_EVEN_REGISTERS;
  static constexpr bool kTakesTurns = Turns && Groups > 1;

  unsigned char* shared;
  Tiles tiles;

  struct Position {
    int stage = 0, parity;
    void advance() {
      if (++stage < kStages) return;
      stage = 0;
      parity ^= 1;
    }
  };
  unsigned long long* barrier(int number) const { return reinterpret_cast<unsigned long long*>(shared + kBarriersAt) + number; }
  unsigned long long* keys_full(int s) const { return barrier(s); }
  unsigned long long* values_full(int s) const { return barrier(kStages + s); }
  unsigned long long* keys_read(int s) const { return barrier(2 * kStages + s); }
  unsigned long long* values_read(int s) const { return barrier(3 * kStages + s); }
  unsigned long long* queries_full() const { return barrier(4 * kStages); }
  unsigned long long* queries_read() const { return barrier(4 * kStages + 1); }

  /// All threads of the block must call it.
  gart_attention_wide(unsigned char* shared_, const Tiles& tiles_) : shared(shared_), tiles(tiles_) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int s = 0; s < kStages; ++s) {
        gart_mbarrier_init(keys_full(s), 1);
        gart_mbarrier_init(values_full(s), 1);
        gart_mbarrier_init(keys_read(s), 4 * Groups);
        gart_mbarrier_init(values_read(s), 4 * Groups);
      }
      gart_mbarrier_init(queries_full(), 1);
      gart_mbarrier_init(queries_read(), 4 * Groups);
      gart_fence_proxy_async();
    }
    __syncthreads();
  }
  static bool multiplies() { return threadIdx.x < kMultiplying; }

  /// Called by the warps that request boxes. One thread calls copy_q(to, column, row, batch, barrier), and likewise
  /// copy_k and copy_v, in the order in which the other threads need the boxes.
  template <class CopyQ, class CopyK, class CopyV>
  void feed(const CopyQ& copy_q, const CopyK& copy_k, const CopyV& copy_v) {
    if constexpr (kShares) gart_give_registers<Few>();
    gart_await_last_launch();
    if (threadIdx.x != kMultiplying) return;
    Position keys{0, 1}, values{0, 1};  // parity 1: all stages are empty, so the first waits return at once
    int queries_parity = 1;
    for (int unit = tiles.first_unit(); unit < tiles.units; unit += tiles.unit_step())
#pragma unroll 1
      for (int part = tiles.parts(unit); part-- > 0;) {
        const gart_attention_tile tile = tiles.tile(unit, part);
        const auto load_keys = [&](int n) {
          gart_mbarrier_wait(keys_read(keys.stage), keys.parity);
          gart_mbarrier_expect(keys_full(keys.stage), kKeyBytes);
          unsigned char* to = shared + kKeysAt + keys.stage * kKeyBytes;
#pragma unroll
          for (int c = 0; c < kDepthChunks; ++c)
            copy_k(to + c * Keys * 128, c * 64, n * Keys, tile.batch, keys_full(keys.stage));
          keys.advance();
        };
        const auto load_values = [&](int n) {
          gart_mbarrier_wait(values_read(values.stage), values.parity);
          gart_mbarrier_expect(values_full(values.stage), kValueBytes);
          unsigned char* to = shared + kValuesAt + values.stage * kValueBytes;
#pragma unroll
          for (int c = 0; c < kValueChunks; ++c)
            copy_v(to + c * Keys * 128, c * 64, n * Keys, tile.batch, values_full(values.stage));
          values.advance();
        };
        gart_mbarrier_wait(queries_read(), queries_parity);
        queries_parity ^= 1;
        gart_mbarrier_expect(queries_full(), kQueryBytes);
#pragma unroll
        for (int c = 0; c < kDepthChunks; ++c)
          copy_q(shared + c * kQueries * 128, c * 64, tile.row, tile.batch, queries_full());
        if (tile.begin < tile.end) load_keys(tile.end - 1);
#pragma unroll 1
        for (int n = tile.end - 1; n >= tile.begin; --n) {
          if (n > tile.begin) load_keys(n - 1);
          load_values(n);
        }
      }
  }

  /// Called by the multiplying warpgroups. change(batch, row, key, a, b) turns the products of a query with two
  /// neighbouring keys into scores; `a` belongs to `key`, and `b` to the next key. The softmax takes 2^(log2_scale *
  /// score). results(tile, row, sums, softmax, staging) stores the results of this warp's 16 queries from `row` on. If
  /// blocks share the keys, these sums are not divided yet.
  template <class Change, class Results>
  void multiply(float log2_scale, const Change& change, const Results& results) {
    if constexpr (kShares) gart_take_registers<Many>();
    gart_await_last_launch();
    // All lanes of a warp have the same value. The compiler cannot derive that from threadIdx.
    const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0), me = warp / 4;
    const unsigned long long q0 = gart_wgmma_descriptor(shared + me * 64 * 128, 64 * 128, 1024);
    const unsigned long long k0 = gart_wgmma_descriptor(shared + kKeysAt, 64 * 128, 1024);
    const unsigned long long v0 = gart_wgmma_descriptor(shared + kValuesAt, Keys * 128, 1024);
    Position keys{0, 0}, values{0, 0};
    int queries_parity = 0;
    if (kTakesTurns && me == Groups - 1) end_turn(me);
    for (int unit = tiles.first_unit(); unit < tiles.units; unit += tiles.unit_step())
#pragma unroll 1
      for (int part = tiles.parts(unit); part-- > 0;) {
        const gart_attention_tile tile = tiles.tile(unit, part);
        const int row0 = tile.row + me * 64 + warp % 4 * 16;
        float sums[Columns / 2], scores[Keys / 2], before[2];
        unsigned int weights[Keys / 4];
        Softmax softmax;
#pragma unroll
        for (int i = 0; i < Columns / 2; ++i) sums[i] = 0.0f;

        const auto begin_scores = [&] {
          const unsigned long long k = k0 + keys.stage * (kKeyBytes / 16);
#pragma unroll
          for (int i = 0; i < (Depth + 15) / 16; ++i)
            gart_wgmma<Kind, Keys, false, false>::ss(scores, q0 + i / 4 * (kQueries * 128 / 16) + i % 4 * 2,
                                                     k + i / 4 * (Keys * 128 / 16) + i % 4 * 2, i > 0 ? 1 : 0);
          gart_wgmma_commit();
        };
        const auto begin_values = [&] {
          const unsigned long long v = v0 + values.stage * (kValueBytes / 16);
#pragma unroll
          for (int i = 0; i < Keys / 16; ++i)
            gart_wgmma<Kind, Columns, false, true>::rs(sums, weights[4 * i], weights[4 * i + 1], weights[4 * i + 2],
                                                       weights[4 * i + 3], v + i * (2048 / 16), 1);
          gart_wgmma_commit();
        };
        const auto pack = [&] {
#pragma unroll
          for (int i = 0; i < Keys / 4; ++i) weights[i] = Half::pack(scores[2 * i], scores[2 * i + 1]);
        };
        const auto next = [&](Position& place, unsigned long long* read) {
          if (threadIdx.x % 32 == 0) gart_mbarrier_arrive(read);
          place.advance();
        };
        const auto change_all = [&](int n) {
#pragma unroll
          for (int i = 0; i < Keys / 2; i += 2) {
            change(tile.batch, row0 + i % 4 / 2 * 8 + softmax.lane_row(), n * Keys + i / 4 * 8 + softmax.lane_key(), scores[i],
                   scores[i + 1]);
            if (i % 4 == 2) gart_limit_reads_ahead(i / 4);
          }
        };

        gart_mbarrier_wait(queries_full(), queries_parity);
        queries_parity ^= 1;
        if (tile.begin < tile.end) {
          gart_mbarrier_wait(keys_full(keys.stage), keys.parity);
          if (kTakesTurns) await_turn(me);
          gart_wgmma_fence();
          begin_scores();
          if (kTakesTurns) end_turn(me);
          gart_wgmma_wait<0>();
          gart_wgmma_hold(scores);
          next(keys, keys_read(keys.stage));
          change_all(tile.end - 1);
          tiles.template drop<Keys>(scores, tile, row0, tile.end - 1);
          softmax.weigh(scores, log2_scale, before);
          pack();
          const auto step = [&](int n, auto drops) {
            gart_mbarrier_wait(keys_full(keys.stage), keys.parity);
            gart_mbarrier_wait(values_full(values.stage), values.parity);
            if (kTakesTurns) await_turn(me);
            gart_wgmma_fence();
            begin_scores();
            begin_values();
            if (kTakesTurns) end_turn(me);
            gart_wgmma_wait<1>();
            gart_wgmma_hold(scores);
            next(keys, keys_read(keys.stage));
            change_all(n);
            if constexpr (decltype(drops)::value) tiles.template drop<Keys>(scores, tile, row0, n);
            softmax.weigh(scores, log2_scale, before);
            // Otherwise ptxas would move the wait up to the previous wait, ahead of independent code.
            gart_known(softmax.total[0] + softmax.total[1], barrier(0));
            gart_wgmma_wait<0>();
            gart_wgmma_hold(sums);
            next(values, values_read(values.stage));
#pragma unroll
            for (int i = 0; i < Columns / 2; ++i) sums[i] *= before[i % 4 / 2];
            pack();
          };
          int n = tile.end - 2;
          if constexpr (Tiles::kLastMoves) {
            const int whole = tiles.template first_dropped_above<Keys>(tile);
#pragma unroll 1
            for (; n >= gart_max(whole, tile.begin); --n) step(n, gart_flag<true>());
          }
          const int whole = Tiles::kFirstMoves ? tiles.template last_dropped_below<Keys, kQueries>(tile) : tile.begin;
#pragma unroll 1
          for (; n >= whole; --n) step(n, gart_flag<false>());
          if constexpr (Tiles::kFirstMoves) {
#pragma unroll 1
            for (; n >= tile.begin; --n) step(n, gart_flag<true>());
          }
          if (threadIdx.x % 32 == 0) gart_mbarrier_arrive(queries_read());
          gart_mbarrier_wait(values_full(values.stage), values.parity);
          gart_wgmma_fence();
          begin_values();
          gart_wgmma_wait<0>();
          gart_wgmma_hold(sums);
          next(values, values_read(values.stage));
        } else if (threadIdx.x % 32 == 0) {
          gart_mbarrier_arrive(queries_read());
        }
        softmax.add_lanes();
        if constexpr (Tiles::kSplits == 1) softmax.divide(sums);
        results(tile, row0, sums, softmax, shared + kStagingAt + warp * kGartStagingBytes);
        __syncwarp();
      }
  }

 private:
  /// At barrier 8 + group this group waits, and the previous group arrives.
  static void await_turn(int group) { gart_named_barrier(8 + group, 256); }
  static void end_turn(int group) { gart_named_arrive(8 + (group + 1) % Groups, 256); }
};

#endif
