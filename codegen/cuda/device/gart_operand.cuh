// Copies operands of a matrix product to shared memory, one tile of Rows x Depth elements at a time. "Rows" are the
// rows of the left operand, or the columns of the right one. "Depth" is the axis of the sum.
#pragma once

#include "gart_grid.cuh"
#include "gart_memory.cuh"
#include "gart_tensor.cuh"

// Conversions of an operand's elements for its tile. 16-bit floats are represented by their bits.
template <class T>
struct gart_kept {
  typedef T Source;
  typedef T Element;
  static constexpr bool kIsKept = true;
  static T of(T v) { return v; }
};
#define GART_CONVERSION(name, From, To, function)    \
  struct name {                                      \
    typedef From Source;                             \
    typedef To Element;                              \
    static constexpr bool kIsKept = false;           \
    static To of(From v) { return function(v); }     \
  };
GART_CONVERSION(gart_narrowed_f16, float, unsigned short, gart_narrow_f16)
GART_CONVERSION(gart_narrowed_bf16, float, unsigned short, gart_narrow_bf16)
GART_CONVERSION(gart_widened_f16, unsigned short, float, gart_widen_f16)
GART_CONVERSION(gart_widened_bf16, unsigned short, float, gart_widen_bf16)
#undef GART_CONVERSION

/// A tile in shared memory. Lines are padded so that fragments and vectors are read without bank conflicts.
template <class T, int Rows, int Depth, bool AlongDepth>
struct gart_tile {
  typedef T Element;
  static constexpr int kRows = Rows, kDepth = Depth;
  static constexpr bool kAlongDepth = AlongDepth;
  static constexpr int kPad = AlongDepth || sizeof(T) == 2 ? 16 / sizeof(T) : 8;
  static constexpr int kLine = (AlongDepth ? Depth : Rows) + kPad;
  static constexpr int kBytes = kLine * (AlongDepth ? Rows : Depth) * sizeof(T);
  static constexpr int at(int row, int depth) { return AlongDepth ? row * kLine + depth : depth * kLine + row; }
};

/// How the threads of a block divide a tile: into chunks of Vector elements along its lines.
template <class Conversion, class Tile_, int Threads, int Vector>
struct gart_chunks {
  typedef Tile_ Tile;
  typedef Conversion Converted;
  typedef typename Conversion::Source Source;
  static constexpr int kVector = Vector, kBytes = Vector * sizeof(Source);
  static constexpr int kPerLine = (Tile::kAlongDepth ? Tile::kDepth : Tile::kRows) / Vector;
  static constexpr int kLines = Tile::kAlongDepth ? Tile::kRows : Tile::kDepth;
  static constexpr int kStep = Threads / kPerLine;  // lines that all threads together copy at once
  static constexpr int kCount = (kLines + kStep - 1) / kStep;
  static_assert(kPerLine <= Threads && Threads % kPerLine == 0, "threads share a line evenly");

  static int first_line() { return threadIdx.x / kPerLine; }
  static int position() { return threadIdx.x % kPerLine * Vector; }
  static bool takes(int i) { return kLines % kStep == 0 || first_line() + i * kStep < kLines; }
  static int row(int i) { return Tile::kAlongDepth ? first_line() + i * kStep : position(); }
  static int depth(int i) { return Tile::kAlongDepth ? position() : first_line() + i * kStep; }
  static int place(int i) { return Tile::at(row(i), depth(i)); }
};

/// A matrix, whose element (row, k) is at base + row * row_stride + k * depth_stride. Vector > 1 requires a stride of 1
/// along lines. It also requires that the other stride, `base` and the extent along lines are multiples of Vector
/// elements.
template <class Conversion, class Tile, int Threads, int Vector>
struct gart_matrix : gart_chunks<Conversion, Tile, Threads, Vector> {
  typedef gart_chunks<Conversion, Tile, Threads, Vector> Chunks;
  typedef typename Conversion::Source Source;
  const Source* from;  // this thread's first chunk at depth 0
  long long row_stride, depth_stride;
  int rows, depth_end;  // rows from this tile's first row to the end of the matrix; the end of the sum

  gart_matrix(const Source* base, long long row_stride_, long long depth_stride_, int first_row, int row_count, int end)
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
  /// The address of chunk i of the tile that begins at depth k. `exists`: whether the chunk lies inside the matrix.
  const Source* chunk(int i, int k, bool& exists) const {
    exists = Chunks::row(i) < rows && k + Chunks::depth(i) < depth_end;
    const long long lines = (long long)i * Chunks::kStep * (Tile::kAlongDepth ? row_stride : depth_stride);
    return from + (long long)k * depth_stride + lines;
  }
};

#if __CUDA_ARCH__ >= 800
/// Starts copying `Bytes` bytes, or writing as many zeros if they do not exist.
template <int Bytes>
void gart_copy_chunk(void* to, const void* from, bool exists) {
  if (Bytes == 16) gart_cp_async_16(to, from, exists ? 16 : 0);
  else if (Bytes == 8) gart_cp_async_8(to, from, exists ? 8 : 0);
  else gart_cp_async_4(to, from, exists ? 4 : 0);
}
#endif
/// Makes a group of this thread's copies since the last call.
inline void gart_commit_copies() {
#if __CUDA_ARCH__ >= 800
  gart_cp_async_commit();
#endif
}
/// Waits until all of this thread's copies are done, except the last `Left` groups. Then waits for the other threads of
/// the block.
template <int Left>
void gart_await_copies() {
#if __CUDA_ARCH__ >= 800
  gart_cp_async_wait<Left>();
#endif
  __syncthreads();
}

/// A copy of the tile at depth k. begin() comes before other work. end() comes after it, when `tile` may be written.
/// Elements outside the operand become zero. This version copies through registers.
template <class Operand, bool IsAsync>
struct gart_tile_copy {
  typedef typename Operand::Tile::Element Element;
  gart_vector<typename Operand::Source, Operand::kVector> chunks[Operand::kCount];

  void begin(const Operand& operand, Element*, int k) {
#pragma unroll
    for (int i = 0; i < Operand::kCount; ++i) {
      bool exists;
      const typename Operand::Source* from = operand.chunk(i, k, exists);
      if (Operand::takes(i) && exists) {
        chunks[i] = gart_load<Operand::kVector>(from);
      } else {
#pragma unroll
        for (int v = 0; v < Operand::kVector; ++v) chunks[i].at[v] = 0;
      }
    }
  }
  void end(Element* tile) {
#pragma unroll
    for (int i = 0; i < Operand::kCount; ++i) {
      gart_vector<Element, Operand::kVector> converted;
#pragma unroll
      for (int v = 0; v < Operand::kVector; ++v) converted.at[v] = Operand::Converted::of(chunks[i].at[v]);
      if (Operand::takes(i)) gart_store(tile + Operand::place(i), converted);
    }
  }
};

#if __CUDA_ARCH__ >= 800
/// This version copies asynchronously.
template <class Operand>
struct gart_tile_copy<Operand, true> {
  typedef typename Operand::Tile::Element Element;

  void begin(const Operand& operand, Element* tile, int k) {
#pragma unroll
    for (int i = 0; i < Operand::kCount; ++i) {
      if (!Operand::takes(i)) continue;
      bool exists;
      const Element* from = operand.chunk(i, k, exists);
      gart_copy_chunk<Operand::kBytes>(tile + Operand::place(i), from, exists);
    }
  }
  void end(Element*) {}
};
template <class Operand>
struct gart_transfer : gart_tile_copy<Operand, Operand::Converted::kIsKept && (Operand::kBytes >= 4)> {};
#else
template <class Operand>
struct gart_transfer : gart_tile_copy<Operand, false> {};
#endif

/// Copies the first Count tiles of both operands; each pair of tiles is a group of copies. Ahead: the operand that no
/// launch writes (1: a, 2: b, 0: neither). Its copies begin before the previous launch has ended.
template <int Count, int Ahead, class A, class B, class Left, class Right>
void gart_copy_first_tiles(A& a, B& b, gart_transfer<A>& copy_a, gart_transfer<B>& copy_b, const Left& left, const Right& right,
                           int first, int steps) {
  constexpr int kDepth = A::Tile::kDepth;
#pragma unroll
  for (int s = 0; s < Count; ++s) {
    if (s >= steps) continue;
    if (Ahead == 1) {
      copy_a.begin(a, left(s), first + s * kDepth);
      a.advance();
      copy_a.end(left(s));
    }
    if (Ahead == 2) {
      copy_b.begin(b, right(s), first + s * kDepth);
      b.advance();
      copy_b.end(right(s));
    }
  }
  gart_await_last_launch();
#pragma unroll
  for (int s = 0; s < Count; ++s) {
    if (s < steps) {
      if (Ahead != 1) copy_a.begin(a, left(s), first + s * kDepth);
      if (Ahead != 2) copy_b.begin(b, right(s), first + s * kDepth);
      if (Ahead != 1) a.advance();
      if (Ahead != 2) b.advance();
      if (Ahead != 1) copy_a.end(left(s));
      if (Ahead != 2) copy_b.end(right(s));
    }
    gart_commit_copies();
  }
}
