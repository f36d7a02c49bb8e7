// Limits register pressure. ptxas reads operands of unrolled steps early, and keeps indices for later use, so it may
// run out of registers. If it does, the assembler recompiles a text that includes this file, first at level 1 and then
// at level 2.
#pragma once

#ifndef GART_REGISTER_PRESSURE
#define GART_REGISTER_PRESSURE 0
#endif

/// How many steps of `step` depths to unroll, in a tile of `depth` depths.
constexpr int gart_unrolled_steps(int depth, int step) {
  const int depths = GART_REGISTER_PRESSURE == 0 ? depth : GART_REGISTER_PRESSURE == 1 ? 8 : 2;
  return depths < step ? 1 : depths / step;
}

/// Returns `index`. At levels 1 and 2, values derived from it earlier are computed again; they do not stay in
/// registers.
inline int gart_computed_again(int index) {
#if GART_REGISTER_PRESSURE > 0
  asm volatile("" : "+r"(index));
#endif
  return index;
}

/// Called after step `number` of an unrolled loop that reads memory. At levels 1 and 2, the reads of later steps stay
/// behind this point.
inline void gart_limit_reads_ahead(int number) {
#if GART_REGISTER_PRESSURE > 0
  if (number % (GART_REGISTER_PRESSURE == 1 ? 4 : 1) == 0) asm volatile("" ::: "memory");
#endif
}
