// Finds the first `count` of `n` points in the order of their keys, which are unsigned integers. Points with equal keys
// keep their order. First a block finds the key of the last wanted point digit by digit, and collects the points up to
// it in ascending order. Then it sorts these points: few of them by exchanges in shared memory, many digit by digit.
#pragma once

#include "gart_scan.cuh"

constexpr int kGartSelectBits = 11, kGartSortBits = 8;
constexpr int kGartExchanged = 2048;  // more points than this are sorted digit by digit
constexpr int kGartAtOnce = 4;        // keys that a thread reads together

/// Shared memory of a block, for all orders of a kernel.
template <int Threads, class Key>
struct gart_order_room {
  unsigned int slots[Threads / 32];
  unsigned int found[3];
  unsigned int begins[1 << kGartSortBits];
  union {
    unsigned int bins[1 << kGartSelectBits];
    unsigned int counts[Threads / 32][1 << kGartSortBits];
    struct {
      Key keys[kGartExchanged];
      int points[kGartExchanged];
    } exchanged;
  };
};

/// Calls see(point, key) for all points. Each thread takes every `Threads`-th point.
template <int Threads, class Key, class KeyOf, class See>
void gart_each_key(const KeyOf& key_of, int n, const See& see) {
  for (int first = (int)threadIdx.x; first < n; first += kGartAtOnce * Threads) {
    Key keys[kGartAtOnce];
#pragma unroll
    for (int u = 0; u < kGartAtOnce; ++u)
      if (first + u * Threads < n) keys[u] = key_of(first + u * Threads);
#pragma unroll
    for (int u = 0; u < kGartAtOnce; ++u)
      if (first + u * Threads < n) see(first + u * Threads, keys[u]);
  }
}

/// Separates the wanted points from the others. Wanted are all points whose `key >> shift` is below that of the
/// threshold, and the first `equals` points for which it is equal.
template <class Key>
struct gart_threshold {
  Key key;
  int shift, equals;
};

template <int Threads, class Key, class KeyOf>
gart_threshold<Key> gart_find_threshold(const KeyOf& key_of, int n, int count, gart_order_room<Threads, Key>& room) {
  constexpr int kBins = 1 << kGartSelectBits, kEach = kBins / Threads;
  static_assert(kEach * Threads == kBins, "every thread has as many bins");
  gart_threshold<Key> last = {0, (int)sizeof(Key) * 8, count};
  while (last.shift > 0) {
    const int high = last.shift, low = high > kGartSelectBits ? high - kGartSelectBits : 0;
    const unsigned int mask = (1u << (high - low)) - 1u;
    __syncthreads();
    for (int b = 0; b < kEach; ++b) room.bins[threadIdx.x * kEach + b] = 0u;
    __syncthreads();
    gart_each_key<Threads, Key>(key_of, n, [&](int, Key key) {
      if (high == (int)sizeof(Key) * 8 || (key >> high) == (last.key >> high))
        atomicAdd(&room.bins[(unsigned int)(key >> low) & mask], 1u);
    });
    __syncthreads();
    unsigned int own_count = 0u, total;
    for (int b = 0; b < kEach; ++b) own_count += room.bins[threadIdx.x * kEach + b];
    unsigned int before = gart_block_scan<Threads, gart_op_sum>(own_count, 0u, room.slots, total);
    if (before < (unsigned int)last.equals && (unsigned int)last.equals <= before + own_count) {
      unsigned int bin = threadIdx.x * kEach;
      while (before + room.bins[bin] < (unsigned int)last.equals) before += room.bins[bin++];
      room.found[0] = bin;
      room.found[1] = before;
      room.found[2] = room.bins[bin];
    }
    __syncthreads();
    last.key |= (Key)room.found[0] << low;
    last.shift = low;
    last.equals -= (int)room.found[1];
    if (last.equals == (int)room.found[2]) break;
  }
  return last;
}

/// Writes the wanted points to `out`: first those below the threshold, then those at it, each in ascending order.
template <int Threads, class Key, class KeyOf>
void gart_collect(const KeyOf& key_of, int n, int count, const gart_threshold<Key>& last, int* out,
                  gart_order_room<Threads, Key>& room) {
  int below = 0, at = 0;  // points that earlier rounds have written or seen
  for (int base = 0; base < n; base += kGartAtOnce * Threads) {
    const int first = base + (int)threadIdx.x * kGartAtOnce;
    Key keys[kGartAtOnce];
    unsigned int own_count = 0u, total;
#pragma unroll
    for (int u = 0; u < kGartAtOnce; ++u)
      if (first + u < n) keys[u] = key_of(first + u);
#pragma unroll
    for (int u = 0; u < kGartAtOnce; ++u) {
      if (first + u >= n) continue;
      const Key key = keys[u] >> last.shift, limit = last.key >> last.shift;
      own_count += key < limit ? 1u : key == limit ? 0x10000u : 0u;
    }
    const unsigned int before = gart_block_scan<Threads, gart_op_sum>(own_count, 0u, room.slots, total);
    int to = below + (int)(before & 0xffffu), equal = at + (int)(before >> 16);
#pragma unroll
    for (int u = 0; u < kGartAtOnce; ++u) {
      if (first + u >= n) continue;
      const Key key = keys[u] >> last.shift, limit = last.key >> last.shift;
      if (key < limit) out[to++] = first + u;
      if (key == limit && equal < last.equals) out[count - last.equals + equal] = first + u;
      if (key == limit) ++equal;
    }
    below += (int)(total & 0xffffu);
    at += (int)(total >> 16);
  }
}

/// Sorts few points by their keys with bitonic exchanges. Equal keys are ordered by point, so no two points compare
/// equal.
template <int Threads, class Key, class KeyOf>
void gart_sort_few(const KeyOf& key_of, int count, int* out, gart_order_room<Threads, Key>& room) {
  Key* const keys = room.exchanged.keys;
  int* const points = room.exchanged.points;
  int size = 2;
  while (size < count) size *= 2;
  __syncthreads();
  for (int i = (int)threadIdx.x; i < size; i += Threads) {
    points[i] = i < count ? out[i] : 0x7fffffff;
    keys[i] = i < count ? key_of(points[i]) : (Key)~(Key)0;
  }
  for (int run = 2; run <= size; run *= 2) {
    for (int apart = run / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (int t = (int)threadIdx.x; t < size / 2; t += Threads) {
        const int a = t / apart * apart * 2 + t % apart, b = a + apart;
        const bool ascending = (a & run) == 0;
        const bool after = keys[a] > keys[b] || (keys[a] == keys[b] && points[a] > points[b]);
        if (after == ascending) {
          const Key key = keys[a];
          const int point = points[a];
          keys[a] = keys[b];
          points[a] = points[b];
          keys[b] = key;
          points[b] = point;
        }
      }
    }
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < count; i += Threads) out[i] = points[i];
}

/// One stable pass of a radix sort, by the digit at `shift`, which moves the points from `from` to `to`. If all keys
/// have the same digit, it does nothing and returns false.
template <int Threads, class Key, class KeyOf>
bool gart_sort_digit(const KeyOf& key_of, int count, int shift, const int* from, int* to,
                     gart_order_room<Threads, Key>& room) {
  constexpr int kDigits = 1 << kGartSortBits;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const auto digit_of = [&](int i) { return (unsigned int)(key_of(from[i]) >> shift) & (kDigits - 1u); };
  __syncthreads();
  for (int d = (int)threadIdx.x; d < kDigits; d += Threads) room.begins[d] = 0u;
  __syncthreads();
  for (int i = (int)threadIdx.x; i < count; i += Threads) atomicAdd(&room.begins[digit_of(i)], 1u);
  __syncthreads();
  const unsigned int own_count = (int)threadIdx.x < kDigits ? room.begins[threadIdx.x] : 0u;
  if (__syncthreads_or(own_count == (unsigned int)count)) return false;
  unsigned int total;
  const unsigned int begin = gart_block_scan<Threads, gart_op_sum>(own_count, 0u, room.slots, total);
  if ((int)threadIdx.x < kDigits) room.begins[threadIdx.x] = begin;
  for (int base = 0; base < count; base += Threads) {
    for (int d = lane; d < kDigits; d += 32) room.counts[warp][d] = 0u;
    const int i = base + (int)threadIdx.x;
    const unsigned int digit = i < count ? digit_of(i) : 0u;
    unsigned int peers = __ballot_sync(0xffffffffu, i < count);  // lanes with the same digit
#pragma unroll
    for (int bit = 0; bit < kGartSortBits; ++bit) {
      const unsigned int set = __ballot_sync(0xffffffffu, (int)(digit >> bit & 1u));
      peers &= (digit >> bit & 1u) != 0u ? set : ~set;
    }
    const int rank = __popc(peers & ((1u << lane) - 1u));
    __syncwarp();
    if (i < count && rank == 0) room.counts[warp][digit] = (unsigned int)__popc(peers);
    __syncthreads();
    for (int d = (int)threadIdx.x; d < kDigits; d += Threads) {
      unsigned int running = room.begins[d];
#pragma unroll
      for (int w = 0; w < Threads / 32; ++w) {
        const unsigned int here = room.counts[w][d];
        room.counts[w][d] = running;
        running += here;
      }
      room.begins[d] = running;
    }
    __syncthreads();
    if (i < count) to[room.counts[warp][digit] + (unsigned int)rank] = from[i];
    __syncwarp();
  }
  return true;
}

/// Sorts points by their keys. The points must be in ascending order.
template <int Threads, class Key, class KeyOf>
void gart_sort_many(const KeyOf& key_of, int count, int* out, int* spare, gart_order_room<Threads, Key>& room) {
  bool is_spare = false;  // true if the points are in `spare`
  for (int shift = 0; shift < (int)sizeof(Key) * 8; shift += kGartSortBits)
    if (gart_sort_digit<Threads, Key>(key_of, count, shift, is_spare ? spare : out, is_spare ? out : spare, room))
      is_spare = !is_spare;
  __syncthreads();
  if (!is_spare) return;
  for (int i = (int)threadIdx.x; i < count; i += Threads) out[i] = spare[i];
}

/// All threads of the block must call it. A barrier must come between the call and earlier writes to its inputs, and
/// earlier reads of `out` and `spare`. The call ends with a barrier.
template <int Threads, class Key, class KeyOf>
void gart_order(const KeyOf& key_of, int n, int count, int* out, int* spare, gart_order_room<Threads, Key>& room) {
  if (count <= 0 || n <= 0) return;
  if (count < n)
    gart_collect<Threads, Key>(key_of, n, count, gart_find_threshold<Threads, Key>(key_of, n, count, room), out, room);
  else
    for (int i = (int)threadIdx.x; i < n; i += Threads) out[i] = i;
  __syncthreads();
  if (count <= kGartExchanged)
    gart_sort_few<Threads, Key>(key_of, count, out, room);
  else
    gart_sort_many<Threads, Key>(key_of, count, out, spare, room);
  __syncthreads();
}
