// Register pressure. ptxas reads operands of unrolled steps ahead and keeps indices for later use, and may do so until
// registers run out. Where they do, the assembler compiles a text that includes this again, at level 1 and then 2.
#pragma once

#ifndef GART_REGISTER_PRESSURE
#define GART_REGISTER_PRESSURE 0
#endif

/// How many steps of `step` depths to unroll, of a tile of `depth`.
constexpr int gart_unrolled_steps(int depth, int step) {
  const int depths = GART_REGISTER_PRESSURE == 0 ? depth : GART_REGISTER_PRESSURE == 1 ? 8 : 2;
  return depths < step ? 1 : depths / step;
}

/// `index`; what was computed from it before is at those levels computed again, rather than kept.
inline int gart_computed_again(int index) {
#if GART_REGISTER_PRESSURE > 0
  asm volatile("" : "+r"(index));
#endif
  return index;
}

/// After step `number` of an unrolled loop that reads memory: at those levels reads of later steps stay behind.
inline void gart_limit_reads_ahead(int number) {
#if GART_REGISTER_PRESSURE > 0
  if (number % (GART_REGISTER_PRESSURE == 1 ? 4 : 1) == 0) asm volatile("" ::: "memory");
#endif
}
