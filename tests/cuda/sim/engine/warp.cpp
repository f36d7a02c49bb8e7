#include "tests/cuda/sim/engine/warp.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/cuda/sim/engine/block_adder.h"

namespace gart_sim {
namespace {

// The lane from which `lane` reads. -1: `lane` keeps its own value.
int source_lane(Shuffle kind, int lane, int argument, int width) {
  const int first = lane / width * width, inside = lane - first;
  switch (kind) {
    case Shuffle::index:
      return first + (argument & (width - 1));
    case Shuffle::up:
      return inside >= argument ? lane - argument : -1;
    case Shuffle::down:
      return inside + argument < width ? lane + argument : -1;
    case Shuffle::exclusive_or: {
      const int source = lane ^ argument;
      // a lane beyond the segment keeps its own value, as for up and down.
      return source / width <= lane / width ? source : -1;
    }
  }
  return -1;
}

template <class T>
T load(const unsigned char* p) {
  T x;
  memcpy(&x, p, sizeof x);
  return x;
}

}  // namespace

void load_elements(Mma kind, const unsigned char* row, unsigned count, float* out) {
  switch (kind) {
    case Mma::f16_k16:
    case Mma::f16_k8:
      for (unsigned k = 0; k < count; ++k) out[k] = f16_to_f32(load<uint16_t>(row + 2 * k));
      break;
    case Mma::bf16_k16:
      for (unsigned k = 0; k < count; ++k) out[k] = std::bit_cast<float>(uint32_t{load<uint16_t>(row + 2 * k)} << 16);
      break;
    case Mma::tf32_k8:  // The low bits are not read.
      for (unsigned k = 0; k < count; ++k) out[k] = std::bit_cast<float>(load<uint32_t>(row + 4 * k) & 0xffffe000u);
      break;
    case Mma::s8_k32:
      for (unsigned k = 0; k < count; ++k) out[k] = static_cast<float>(load<signed char>(row + k));
      break;
  }
}

unsigned element_bytes(Mma kind) { return kind == Mma::s8_k32 ? 1 : kind == Mma::tf32_k8 ? 4 : 2; }

float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = std::ldexp(static_cast<float>(fraction), -24);
  return sign ? -small : small;
}

void compute_shuffle(const Lanes& lanes, unsigned detail, BlockRunner& runner) {
  unsigned char values[32][16];
  const auto kind = static_cast<Shuffle>(detail & 255);
  const int width = static_cast<int>(detail >> 8);
  for (unsigned l = 0; l < 32; ++l) {
    if (lanes[l]) memcpy(values[l], lanes[l]->inout, lanes[l]->bytes);
  }
  for (int l = 0; l < 32; ++l) {
    if (!lanes[l]) continue;
    const int source = source_lane(kind, l, lanes[l]->lane, width);
    if (source < 0) continue;
    if (source > 31 || !lanes[source]) {
      runner.fault(Finding::divergence, 719,
                   "a shuffle at " + runner.at(lanes[l]->site) + " makes lane " + std::to_string(l) + " read lane " +
                       std::to_string(source) + ", which takes no part");
    }
    memcpy(lanes[l]->inout, values[source], lanes[l]->bytes);
  }
}

void compute_vote(const Lanes& lanes, Vote kind) {
  unsigned result = kind == Vote::minimum || kind == Vote::bit_and ? ~0u : 0u;
  for (unsigned l = 0; l < 32; ++l) {
    if (!lanes[l]) continue;
    const unsigned x = *static_cast<const unsigned*>(lanes[l]->inout);
    switch (kind) {
      case Vote::ballot:
        result |= (x ? 1u : 0u) << l;
        break;
      case Vote::sum:
        result += x;
        break;
      case Vote::minimum:
        result = std::min(result, x);
        break;
      case Vote::maximum:
        result = std::max(result, x);
        break;
      case Vote::bit_and:
        result &= x;
        break;
      case Vote::bit_or:
        result |= x;
        break;
      case Vote::bit_xor:
        result ^= x;
        break;
    }
  }
  for (WarpRequest* lane : lanes) {
    if (lane) *static_cast<unsigned*>(lane->inout) = result;
  }
}

// PTX ISA, "Matrix fragments for mma.m16n8k8" (k16, k32), as CUTLASS's mma_traits_sm80.hpp has them, too.
// The fragments of m16n8 (lane l: g = l/4, t = l%4), one rule in bytes for all element types with a row of 32 bytes:
// A's register r, byte b: row g + 8*(r%2), byte 4t + b + 16*(r/2). B's register r, byte b: column g, byte 4t + b + 16r.
// C's element i: row g + 8*(i/2), column 2t + i%2.
void compute_mma(const Lanes& lanes, Mma kind) {
  const unsigned row_bytes = kind == Mma::f16_k8 ? 16 : 32, a_registers = row_bytes / 8, b_registers = row_bytes / 16;
  unsigned char a[16][32], b[8][32];
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned g = l / 4, t = l % 4;
    const auto* ra = static_cast<const unsigned char*>(lanes[l]->a);
    const auto* rb = static_cast<const unsigned char*>(lanes[l]->b);
    for (unsigned r = 0; r < a_registers; ++r) memcpy(&a[g + 8 * (r % 2)][4 * t + 16 * (r / 2)], ra + 4 * r, 4);
    for (unsigned r = 0; r < b_registers; ++r) memcpy(&b[g][4 * t + 16 * r], rb + 4 * r, 4);
  }
  const unsigned k_extent = row_bytes / element_bytes(kind);
  float fa[16][32], fb[8][32];
  for (unsigned m = 0; m < 16; ++m) load_elements(kind, a[m], k_extent, fa[m]);
  for (unsigned n = 0; n < 8; ++n) load_elements(kind, b[n], k_extent, fb[n]);
  for (unsigned m = 0; m < 16; ++m) {
    for (unsigned n = 0; n < 8; ++n) {
      void* const c = lanes[m % 8 * 4 + n / 2]->inout;
      const unsigned i = m / 8 * 2 + n % 2;
      if (kind == Mma::s8_k32) {  // exact: the sum stays below 2^24
        static_cast<int*>(c)[i] += static_cast<int>(std::inner_product(fa[m], fa[m] + k_extent, fb[n], 0.0f));
      } else {
        float& sum = static_cast<float*>(c)[i];
        sum = add_products(sum, fa[m], fb[n], k_extent, 16 / element_bytes(kind));
      }
    }
  }
}

// PTX ISA, "Register fragments for wgmma.mma_async": A's of m64, for the 16 rows of a warp, are those of mma's m16.
void compute_wide_rows(const Lanes& lanes) {
  for (unsigned l = 0; l < 32 && lanes[l]->a != nullptr; ++l) {
    auto& product = *static_cast<WideProduct*>(lanes[l]->inout);
    for (unsigned t = 0; t < 4; ++t) {
      const auto* registers = static_cast<const unsigned char*>(lanes[l / 4 * 4 + t]->a);
      for (unsigned r = 0; r < 4; ++r) memcpy(&product.rows[r % 2][4 * t + 16 * (r / 2)], registers + 4 * r, 4);
    }
  }
}

// PTX ISA, ldmatrix, and stmatrix, which is its reverse.
// Lane l's row address is row l%8 of matrix l/8; register m gets row l/4, bytes 4(l%4).. of matrix m. Transposed: rows
// 2(l%4) and the next, of column l/4.
void compute_ldmatrix(const Lanes& lanes, unsigned matrices, bool transposed) {
  for (unsigned l = 0; l < 32; ++l) {
    for (unsigned m = 0; m < matrices; ++m) {
      unsigned char* target = static_cast<unsigned char*>(lanes[l]->inout) + 4 * m;
      const auto row = [&](unsigned r) { return static_cast<const unsigned char*>(lanes[8 * m + r]->a); };
      if (transposed) {
        memcpy(target, row(2 * (l % 4)) + 2 * (l / 4), 2);
        memcpy(target + 2, row(2 * (l % 4) + 1) + 2 * (l / 4), 2);
      } else {
        memcpy(target, row(l / 4) + 4 * (l % 4), 4);
      }
    }
  }
}

void compute_stmatrix(const Lanes& lanes, unsigned matrices, bool transposed, BlockRunner& runner) {
  for (unsigned l = 0; l < 32; ++l) {
    const auto store = [&](unsigned m, unsigned row, unsigned byte, const unsigned char* source, unsigned bytes) {
      unsigned char* const target = static_cast<unsigned char*>(lanes[8 * m + row]->inout) + byte;
      runner.touch_as(l, target, bytes, Access::write, "a matrix store");
      memcpy(target, source, bytes);
    };
    for (unsigned m = 0; m < matrices; ++m) {
      const unsigned char* source = static_cast<const unsigned char*>(lanes[l]->b) + 4 * m;
      if (transposed) {
        store(m, 2 * (l % 4), 2 * (l / 4), source, 2);
        store(m, 2 * (l % 4) + 1, 2 * (l / 4), source + 2, 2);
      } else {
        store(m, l / 4, 4 * (l % 4), source, 4);
      }
    }
  }
}

}  // namespace gart_sim
