// Operands of a matrix product on their way into shared memory, a tile of Rows x Depth floats at a time. "Rows" are the
// rows of the left operand and the columns of the right one; "depth" is the direction of the sum.
#pragma once

#include "gart_memory.cuh"
#include "gart_tensor.cuh"

/// A tile in shared memory. Lines are padded so that fragments and vectors are read without bank conflicts.
template <int Rows, int Depth, bool AlongDepth>
struct gart_tile {
  static constexpr int kLine = AlongDepth ? Depth + 4 : Rows + 8;
  static constexpr int kFloats = kLine * (AlongDepth ? Rows : Depth);
  static constexpr int at(int row, int depth) { return AlongDepth ? row * kLine + depth : depth * kLine + row; }
};

/// How the threads of a block share a tile: chunks of Vector floats along the direction in which lines run.
template <int Rows, int Depth, int Threads, int Vector, bool AlongDepth>
struct gart_chunks {
  typedef gart_tile<Rows, Depth, AlongDepth> Tile;
  static constexpr int kVector = Vector;
  static constexpr int kPerLine = (AlongDepth ? Depth : Rows) / Vector;
  static constexpr int kLines = AlongDepth ? Rows : Depth;
  static constexpr int kStep = Threads / kPerLine;  // lines that all threads copy at once
  static constexpr int kCount = (kLines + kStep - 1) / kStep;
  static_assert(kPerLine <= Threads && Threads % kPerLine == 0, "threads share a line evenly");

  static int first_line() { return threadIdx.x / kPerLine; }
  static int position() { return threadIdx.x % kPerLine * Vector; }
  static bool takes(int i) { return kLines % kStep == 0 || first_line() + i * kStep < kLines; }
  static int row(int i) { return AlongDepth ? first_line() + i * kStep : position(); }
  static int depth(int i) { return AlongDepth ? position() : first_line() + i * kStep; }
  static int place(int i) { return Tile::at(row(i), depth(i)); }
};

/// A matrix: element (row, k) lies row * row_stride + k * depth_stride behind `base`. With Vector = 4 the stride along lines
/// is 1, the other and `base` are multiples of 4 floats, and so is the extent along lines.
template <int Rows, int Depth, int Threads, int Vector, bool AlongDepth>
struct gart_matrix : gart_chunks<Rows, Depth, Threads, Vector, AlongDepth> {
  typedef gart_chunks<Rows, Depth, Threads, Vector, AlongDepth> Chunks;
  const float* from;  // of this thread's first chunk in depth 0
  long long row_stride, depth_stride;
  int rows, depth_end;  // what is left of the matrix from this tile's first row on; the sum's end

  gart_matrix(const float* base, long long row_stride_, long long depth_stride_, int first_row, int row_count, int end)
      : from(base + (first_row + Chunks::row(0)) * row_stride_ + Chunks::depth(0) * depth_stride_),
        row_stride(row_stride_),
        depth_stride(depth_stride_),
        rows(row_count - first_row),
        depth_end(end) {}

  void skip_rows(int count) {
    from += count * row_stride;
    rows -= count;
  }
  void seek(int) {}
  void advance() {}
  /// Where chunk i of the tile that begins at depth k lies, if it `exists`.
  const float* chunk(int i, int k, bool& exists) const {
    exists = Chunks::row(i) < rows && k + Chunks::depth(i) < depth_end;
    const long long lines = (long long)i * Chunks::kStep * (AlongDepth ? row_stride : depth_stride);
    return from + (long long)k * depth_stride + lines;
  }
};

/// Starts copying the tile at depth k; what lies outside of the operand becomes zero.
#if __CUDA_ARCH__ >= 800
template <class Operand>
void gart_copy_tile(const Operand& operand, float* tile, int k) {
#pragma unroll
  for (int i = 0; i < Operand::kCount; ++i) {
    if (!Operand::takes(i)) continue;
    bool exists;
    const float* from = operand.chunk(i, k, exists);
    if (Operand::kVector == 4) gart_cp_async_16(tile + Operand::place(i), from, exists ? 16 : 0);
    else gart_cp_async_4(tile + Operand::place(i), from, exists ? 4 : 0);
  }
}
#endif

/// Waits for all copies of this thread, and for the other threads of the block.
inline void gart_await_copies() {
#if __CUDA_ARCH__ >= 800
  gart_cp_async_wait<0>();
#endif
  __syncthreads();
}

/// The same through registers: for GPUs without asynchronous copies.
template <class Operand>
struct gart_held_tile {
  gart_vector<float, Operand::kVector> chunks[Operand::kCount];

  void read(const Operand& operand, int k) {
#pragma unroll
    for (int i = 0; i < Operand::kCount; ++i) {
      bool exists;
      const float* from = operand.chunk(i, k, exists);
      if (Operand::takes(i) && exists) {
        chunks[i] = gart_load<Operand::kVector>(from);
      } else {
#pragma unroll
        for (int v = 0; v < Operand::kVector; ++v) chunks[i].at[v] = 0.0f;
      }
    }
  }
  void write(float* tile) const {
#pragma unroll
    for (int i = 0; i < Operand::kCount; ++i)
      if (Operand::takes(i)) gart_store(tile + Operand::place(i), chunks[i]);
  }
};

/// A copy that begins before other work and ends behind it, when `tile` may be written. The GPU decides what is done when.
template <class Operand>
struct gart_transfer {
#if __CUDA_ARCH__ >= 800
  void begin(const Operand& operand, float* tile, int k) {
    gart_copy_tile(operand, tile, k);
    gart_cp_async_commit();
  }
  void end(float*) {}
#else
  gart_held_tile<Operand> held;
  void begin(const Operand& operand, float*, int k) { held.read(operand, k); }
  void end(float* tile) { held.write(tile); }
#endif
};
