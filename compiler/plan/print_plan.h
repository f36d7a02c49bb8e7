// A plan as text, for --print-plan and for tests.
#pragma once

#include <string>

#include "compiler/plan/plan.h"

namespace gcg {

/// Kernels, buffers with their offsets, and the steps.
std::string print_plan(const Plan& plan);

/// One line per buffer: "buffer %2(a) temporary, 128 bytes, block 0 at 64".
std::string print_buffers(const Plan& plan);

/// Sequences, one line per step. A buffer is printed as its number and name, with a > before buffers that are written:
///   2: launch k0 %0(x) %1(w) >%2(a); in place 0; waits 0 1; stream 1; overlaps // source
/// The fallback launches of a call are indented under it.
std::string print_steps(const Plan& plan);

}  // namespace gcg
