// Products of few lines with weights that are low-bit integers. Each block of a column has a scale, and may have an
// offset: w = q * scale - offset. The integers stay packed in words until tensor cores multiply them. In registers, q
// is converted exactly to a 16-bit float. The sum of each block is multiplied by its scale in f32.
//
// Weights lie in panels of 48 columns: words as [panel][word][column], scales and offsets as [panel][block][column]. A
// word holds neighbouring depths of one column, the first one in the lowest bits. A warp processes every Warps-th piece
// of 64 depths of Tiles * 16 columns, and copies it through a ring of its own. Among every 32 depths and 16 columns,
// lane (g, t) multiplies depths 8t to 8t + 7 of columns 2g and 2g + 1. The few lines are read in the same order. Each
// f32 line is split into three bf16 lines, each a column of the product, so that no bit is lost.
#pragma once

#include "gart_half_pairs.cuh"
#include "gart_vectors.cuh"

#if __CUDA_ARCH__ >= 800
#ifdef GART_SHIM
inline unsigned int gart_fma_bf16x2(unsigned int a, unsigned int b, unsigned int c) {
  const auto of = [](unsigned int x, int half) { return gart_widen_bf16((unsigned short)(x >> 16 * half)); };
  return gart_pack_bf16(fmaf(of(a, 0), of(b, 0), of(c, 0)), fmaf(of(a, 1), of(b, 1), of(c, 1)));
}
#else
inline unsigned int gart_fma_bf16x2(unsigned int a, unsigned int b, unsigned int c) {
  unsigned int r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
#endif

template <class Kind>
struct gart_ones;
template <>
struct gart_ones<gart_f16> {
  static constexpr unsigned int kPair = 0x3c003c00u;
};
template <>
struct gart_ones<gart_bf16> {
  static constexpr unsigned int kPair = 0x3f803f80u;
};

/// Converts words of signed `Bits`-bit integers to pairs of Kind's floats. The two numbers of a pair are kApart depths
/// apart.
template <class Kind, int Bits>
struct gart_integers;

template <>
struct gart_integers<gart_f16, 4> {
  static constexpr int kApart = 4;
  /// Eight depths of one column, as the pairs (0, 4), (1, 5), (2, 6), (3, 7).
  static void pairs(const unsigned int (&word)[1], unsigned int (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned int w = word[0] >> 8 * i;
      to[2 * i] = gart_sub_f16x2((w & 0x000f000fu) ^ 0x64086408u, 0x64086408u);                    // 1024 + (q + 8) - 1032
      to[2 * i + 1] = gart_fma_f16x2((w & 0x00f000f0u) ^ 0x64806480u, 0x2c002c00u, 0xd480d480u);  // (1024 + 16 (q + 8)) / 16 - 72
    }
  }
};
template <>
struct gart_integers<gart_bf16, 4> {
  static constexpr int kApart = 4;
  static void pairs(const unsigned int (&word)[1], unsigned int (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i] = gart_fma_bf16x2((word[0] >> 4 * i & 0x000f000fu) ^ 0x43084308u, 0x3f803f80u, 0xc308c308u);  // 128 + (q + 8) - 136
  }
};
template <>
struct gart_integers<gart_f16, 8> {
  static constexpr int kApart = 1;
  /// Eight depths in two words, as the pairs (0, 1), (2, 3), (4, 5), (6, 7).
  static void pairs(const unsigned int (&word)[2], unsigned int (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned int w = word[i / 2] ^ 0x80808080u;
#ifdef GART_SHIM
      const unsigned int half = w >> 16 * (i % 2), pair = (half & 0xffu) | (half & 0xff00u) << 8 | 0x64006400u;
#else
      const unsigned int pair = __byte_perm(w, 0x64646464u, i % 2 ? 0x4342 : 0x4140);
#endif
      to[i] = gart_sub_f16x2(pair, 0x64806480u);  // 1024 + (q + 128) - 1152
    }
  }
};
template <>
struct gart_integers<gart_bf16, 8> {
  static constexpr int kApart = 2;
  /// Eight depths in two words, as the pairs (0, 2), (1, 3), (4, 6), (5, 7). A byte is 16 times its upper half, which
  /// is signed, plus its lower half.
  static void pairs(const unsigned int (&word)[2], unsigned int (&to)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned int w = word[i / 2] >> 8 * (i % 2);
      const unsigned int low = gart_fma_bf16x2((w & 0x000f000fu) | 0x43004300u, 0x3f803f80u, 0xc300c300u);        // l
      const unsigned int high = gart_fma_bf16x2((w >> 4 & 0x000f000fu) ^ 0x43084308u, 0x3f803f80u, 0xc308c308u);  // h
      to[i] = gart_fma_bf16x2(high, 0x41804180u, low);                                                            // 16 h + l
    }
  }
};

/// Regroups eight neighbouring depths into pairs that are `Apart` depths apart.
template <int Apart>
gart_words gart_pairs_apart(const gart_words& v) {
  if constexpr (Apart == 1) return v;
  gart_words r;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    // Pairs 2i and 2i + 1 come from words i and i + 2 if Apart is 4, and from words 2i and 2i + 1 if it is 2.
    const unsigned int a = v.at[Apart == 4 ? i : 2 * i], b = v.at[Apart == 4 ? i + 2 : 2 * i + 1];
    r.at[2 * i] = (a & 0xffffu) | b << 16;
    r.at[2 * i + 1] = a >> 16 | (b & 0xffff0000u);
  }
  return r;
}

/// Reads eight depths as Kind's floats. If Parts is 3, each f32 number is a sum of three bf16 numbers, and `part`
/// selects one of them. Each number rounds the remainder that the earlier ones leave.
template <class Kind, int Parts, int Apart, int Vector, class Lines>
gart_words gart_read_parts(const Lines& lines, const typename Lines::Source* from, int part) {
  if constexpr (Parts == 1) {
    return gart_pairs_apart<Apart>(gart_read_factors<Kind, Lines, Vector>(lines, from));
  } else {
    float v[8];
#pragma unroll
    for (int i = 0; i < 8; i += Vector) {
      const auto read = Lines::template read<Vector, (Vector > 1)>(from + i * lines.depth_stride, lines.depth_stride);
#pragma unroll
      for (int e = 0; e < Vector; ++e) v[i + e] = Lines::Conversion::of(read.at[e]);
    }
    gart_words r;
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      gart_words here;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        here.at[i] = gart_pack_bf16(v[2 * i], v[2 * i + 1]);
        v[2 * i] -= gart_f32_from_bits(here.at[i] << 16);
        v[2 * i + 1] -= gart_f32_from_bits(here.at[i] & 0xffff0000u);
      }
      if (p == 0 || p == part) r = here;
    }
    return gart_pairs_apart<Apart>(r);
  }
}

/// The weights: `depth` rows and `columns` columns. Scale: unsigned short (f16) or float.
template <class Scale_>
struct gart_block_matrix {
  typedef Scale_ Scale;
  const int* words;
  const Scale* scales;
  const float* offsets;
  int columns, depth;
};

inline float gart_scale(float v) { return v; }
inline float gart_scale(unsigned short v) { return gart_widen_f16(v); }

/// The parameters of a product. Parts: how many numbers add up to each number of the few lines. Block: elements of a
/// block along the depth, a multiple of 16 (0: one scale per column). Tiles (1 or 3): a unit of work is Tiles * 16
/// columns.
template <class Kind_, int Few_, int Parts_, int Bits_, int Block_, int Tiles_, int Warps_, int Stages_, bool Offsets_, class Scale>
struct gart_block_plan {
  typedef Kind_ Kind;
  static constexpr int kFew = Few_, kParts = Parts_, kBits = Bits_, kBlock = Block_, kTiles = Tiles_, kWarps = Warps_, kStages = Stages_;
  static constexpr bool kOffsets = Offsets_;
  static constexpr int kColumns = 16 * kTiles, kUsed = kFew * kParts, kEights = (kUsed + 7) / 8, kPiece = 64;
  static constexpr int kWordRows = kPiece * kBits / 32;
  static constexpr int kLine = kColumns + (kBits == 4 ? 8 : 4);  // words per line; the padding lets lanes read different banks
  // How many blocks a piece can overlap; blocks are aligned.
  static constexpr int kBlocks = kBlock == 0 || kBlock >= kPiece ? 1 : kPiece / kBlock;
  static constexpr int kScaleBytes = kColumns * (int)sizeof(Scale), kOffsetBytes = kOffsets ? kColumns * 4 : 0;
  static constexpr int kStage = kWordRows * kLine * 4 + kBlocks * (kScaleBytes + kOffsetBytes);
  static constexpr int kRing = kWarps * kStages * kStage;
  static constexpr int kShared = kRing + kWarps * kColumns * kUsed * 4;
};

/// FewVector: depths of the few operand per access. `shared` has Form::kShared bytes.
template <class Form, int FewVector, class FewLines, class Weights>
struct gart_block_product {
  typedef typename Form::Kind Kind;
  typedef typename Weights::Scale Scale;
  typedef gart_integers<Kind, Form::kBits> Integers;
  static constexpr int kPanel = 48, kOfPanel = 3 / Form::kTiles;  // kOfPanel: units per panel
  // The factors of a piece: for its first 32 depths, and for the other 32.
  typedef gart_words Factors[2][Form::kEights];

  const FewLines& few;
  const Weights& weights;
  unsigned char* shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int pieces = (weights.depth + Form::kPiece - 1) / Form::kPiece, rounds = (pieces + Form::kWarps - 1) / Form::kWarps;

  /// Calls finish(few line, column, sum) once for each sum of the units first_unit, first_unit + stride, ... All
  /// threads of the Form::kWarps warps must call it. Weights are constants, so it reads them before it waits for the
  /// previous launch.
  template <class Finish>
  void run(int first_unit, int stride, const Finish& finish) const {
    const int units = (weights.columns + Form::kColumns - 1) / Form::kColumns;
    int unit_ahead = first_unit, round_ahead = 0;
    const auto ask = [&](int s) {
      const int piece = round_ahead * Form::kWarps + warp;
      if (unit_ahead < units && piece < pieces) copy(s, unit_ahead, piece);
      gart_cp_async_commit();
      if (++round_ahead < rounds) return;
      round_ahead = 0;
      unit_ahead += stride;
    };
#pragma unroll
    for (int s = 0; s < Form::kStages - 1; ++s) ask(s);
    gart_await_last_launch();
    Factors factors;
    read_factors(factors, warp);
    int reading = 0, writing = Form::kStages - 1;
#pragma unroll 1
    for (int unit = first_unit; unit < units; unit += stride) {
      float sums[Form::kTiles][Form::kEights][4] = {};
#pragma unroll 1
      for (int round = 0; round < rounds; ++round) {
        Factors next;  // the factors of the next piece; after the last piece, those of the first one
        read_factors(next, (round + 1 < rounds ? round + 1 : 0) * Form::kWarps + warp);
        gart_cp_async_wait<Form::kStages - 2>();
        __syncwarp();
        ask(writing);
        if (round * Form::kWarps + warp < pieces) multiply(sums, reading, factors);
        reading = reading + 1 == Form::kStages ? 0 : reading + 1;
        writing = writing + 1 == Form::kStages ? 0 : writing + 1;
#pragma unroll
        for (int b = 0; b < 2; ++b)
#pragma unroll
          for (int h = 0; h < Form::kEights; ++h) factors[b][h] = next[b][h];
      }
      add(sums, unit, finish);
    }
  }

 private:
  unsigned char* stage(int s) const { return shared + (warp * Form::kStages + s) * Form::kStage; }
  unsigned char* scales_at(int s) const { return stage(s) + Form::kWordRows * Form::kLine * 4; }
  unsigned char* offsets_at(int s) const { return scales_at(s) + Form::kBlocks * Form::kScaleBytes; }

  /// Copies lines of Bytes bytes from rows first, first + 1, ... below `end`. Fills the remaining lines with zeros.
  template <int Rows, int Bytes, int Line>
  void copy_lines(unsigned char* to, const unsigned char* from, long long row_bytes, int first, int end) const {
    constexpr int kOfLine = Bytes / 16;
#pragma unroll
    for (int c0 = 0; c0 < Rows * kOfLine; c0 += 32) {
      const int c = c0 + lane, row = c / kOfLine, at = c % kOfLine * 16;
      if (Rows * kOfLine % 32 != 0 && c >= Rows * kOfLine) continue;
      const bool exists = first + row < end;
      gart_cp_async_16(to + row * Line + at, from + (exists ? first + row : 0) * row_bytes + at, exists ? 16 : 0);
    }
  }
  void copy(int s, int unit, int piece) const {
    const int panel = unit / kOfPanel, column = unit % kOfPanel * Form::kColumns;
    const int words = (weights.depth * Form::kBits + 31) / 32;
    const int block = Form::kBlock == 0 ? 1 << 30 : Form::kBlock, blocks = (weights.depth + block - 1) / block;
    const unsigned char* const from = reinterpret_cast<const unsigned char*>(weights.words + (long long)panel * words * kPanel + column);
    copy_lines<Form::kWordRows, Form::kColumns * 4, Form::kLine * 4>(stage(s), from, kPanel * 4, piece * Form::kWordRows, words);
    const int first = piece * Form::kPiece / block;
    const long long place = (long long)panel * blocks * kPanel + column;
    copy_lines<Form::kBlocks, Form::kScaleBytes, Form::kScaleBytes>(
        scales_at(s), reinterpret_cast<const unsigned char*>(weights.scales + place), kPanel * (int)sizeof(Scale), first, blocks);
    if constexpr (Form::kOffsets)
      copy_lines<Form::kBlocks, Form::kOffsetBytes, Form::kOffsetBytes>(
          offsets_at(s), reinterpret_cast<const unsigned char*>(weights.offsets + place), kPanel * 4, first, blocks);
  }

  /// The scales, or offsets, of this lane's two columns of a tile.
  template <class T>
  static gart_vector<T, 2> two(const unsigned char* of_block, int tile, int g) {
    return gart_load<2>(reinterpret_cast<const T*>(of_block) + tile * 16 + 2 * g);
  }

  /// Adds the products of one piece. `factors`: the few operand's part for both halves of the piece.
  void multiply(float (&sums)[Form::kTiles][Form::kEights][4], int s, const gart_words (&factors)[2][Form::kEights]) const {
    constexpr bool kSixteens = Form::kBlock == 16;
    // The parts of a piece that have scales of their own.
    constexpr int kParts = Form::kBlocks == 1 ? 1 : kSixteens ? 4 : 2;
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const bool owns = !kSixteens || t / 2 == p % 2;  // if blocks have 16 depths, only half of the lanes hold depths of a part
      float ones[Form::kEights][4] = {};
      if constexpr (Form::kOffsets) {
        constexpr unsigned int kOne = gart_ones<Kind>::kPair;
        each_half<kParts>(p, [&](int b) {
#pragma unroll
          for (int h = 0; h < Form::kEights; ++h)
#pragma unroll
            for (int i = 0; i < 2; ++i)
              Kind::add(ones[h], typename Kind::A{{kOne, kOne, kOne, kOne}}, right(factors[b][h], i, owns));
        });
      }
#pragma unroll
      for (int tile = 0; tile < Form::kTiles; ++tile) {
        float part[Form::kEights][4] = {};
        each_half<kParts>(p, [&](int b) {
          unsigned int upper[4], lower[4];
          read_words(s, tile, b, upper, lower);
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const typename Kind::A a = {{upper[2 * i], lower[2 * i], upper[2 * i + 1], lower[2 * i + 1]}};
#pragma unroll
            for (int h = 0; h < Form::kEights; ++h) Kind::add(part[h], a, right(factors[b][h], i, owns));
          }
        });
        const gart_vector<Scale, 2> scale = two<Scale>(scales_at(s) + p * Form::kScaleBytes, tile, g);
#pragma unroll
        for (int h = 0; h < Form::kEights; ++h)
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[tile][h][e] = fmaf(gart_scale(scale.at[e / 2]), part[h][e], sums[tile][h][e]);
        if constexpr (Form::kOffsets) {
          const gart_vector<float, 2> offset = two<float>(offsets_at(s) + p * Form::kOffsetBytes, tile, g);
#pragma unroll
          for (int h = 0; h < Form::kEights; ++h)
#pragma unroll
            for (int e = 0; e < 4; ++e) sums[tile][h][e] = fmaf(-offset.at[e / 2], ones[h][e], sums[tile][h][e]);
        }
      }
    }
  }

  /// Calls body(half) for each half (32 depths) of a piece that part `p` of the `Parts` parts overlaps.
  template <int Parts, class Body>
  static void each_half(int p, const Body& body) {
    if (Parts == 1) {
      body(0);
      body(1);
    } else {
      body(Parts == 2 ? p : p / 2);
    }
  }
  static typename Kind::B right(const gart_words& v, int i, bool exists) {
    return {{exists ? v.at[2 * i] : 0u, exists ? v.at[2 * i + 1] : 0u}};
  }

  /// Reads this lane's eight depths of half `b` of a piece as pairs, for both of its columns of a tile.
  void read_words(int s, int tile, int b, unsigned int (&upper)[4], unsigned int (&lower)[4]) const {
    constexpr int kWords = Form::kBits / 4;
    const int g = lane / 4, t = lane % 4;
    unsigned int first[kWords], second[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int row = (b * 4 + t) * kWords + w;
      const unsigned int* const from = reinterpret_cast<const unsigned int*>(stage(s)) + row * Form::kLine + tile * 16 + 2 * g;
      const gart_vector<unsigned int, 2> both = gart_load<2>(from);
      first[w] = both.at[0];
      second[w] = both.at[1];
    }
    Integers::pairs(first, upper);
    Integers::pairs(second, lower);
  }

  void read_factors(Factors& factors, int piece) const {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int b = 0; b < 2; ++b)
#pragma unroll
      for (int h = 0; h < Form::kEights; ++h) {
        const int column = h * 8 + g, k = piece * Form::kPiece + b * 32 + t * 8;
        if (column < Form::kUsed && k < weights.depth)
          factors[b][h] = gart_read_parts<Kind, Form::kParts, Integers::kApart, FewVector>(
              few, few.at + column / Form::kParts * few.line_stride + k * few.depth_stride, column % Form::kParts);
        else factors[b][h] = gart_fill<4>(0u);
      }
  }

  /// Adds the sums of all warps and parts in a fixed order, and calls finish for each total.
  template <class Finish>
  void add(const float (&sums)[Form::kTiles][Form::kEights][4], int unit, const Finish& finish) const {
    float* const partial = reinterpret_cast<float*>(shared + Form::kRing);
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int tile = 0; tile < Form::kTiles; ++tile)
#pragma unroll
      for (int h = 0; h < Form::kEights; ++h)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int used = h * 8 + 2 * t + e % 2;
          if (used < Form::kUsed) partial[(warp * Form::kUsed + used) * Form::kColumns + tile * 16 + 2 * g + e / 2] = sums[tile][h][e];
        }
    __syncthreads();
    for (int i = threadIdx.x; i < Form::kFew * Form::kColumns; i += 32 * Form::kWarps) {
      const int line = i / Form::kColumns, column = unit * Form::kColumns + i % Form::kColumns;
      float sum = 0.0f;
#pragma unroll
      for (int p = 0; p < Form::kParts; ++p)
#pragma unroll
        for (int w = 0; w < Form::kWarps; ++w)
          sum += partial[(w * Form::kUsed + line * Form::kParts + p) * Form::kColumns + i % Form::kColumns];
      if (column < weights.columns) finish(line, column, sum);
    }
    __syncthreads();
  }
};
#endif
