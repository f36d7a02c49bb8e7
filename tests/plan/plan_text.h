// Plans as text, for tests of the passes over them: every *.plan file in this folder holds cases of the form
//
//     CASE a result takes over an operand that dies
//     PASS plan_memory
//     buffer %0(x) input 0, 128 bytes
//     buffer %1(a) temporary, 128 bytes
//     buffer %2(y) output 0, 128 bytes
//     sequence 0
//       0: launch k0 %0(x) >%1(a) // a
//       1: launch k1 %1(a) >%2(y); in place 0; waits 0 // y
//     EXPECT
//     ...
//
// Both plans have the form in which compiler/plan/print_plan.h prints buffers and steps. If the expected plan begins
// with "sequence", buffers are not compared. PASS names passes in order, or "verify_plan", whose result is an error
// message or "sound". The text does not describe kernels: each is a loop over its operands' bytes as floats. Lines
// before the buffers state further facts:
//
//     for sm_90a                     cost models use the numbers of this target; default: those of a typical GPU
//     kernel k0 waits ahead 1        its code reads operand 1 before it waits for the previous launch
//     kernel k0 waits blocks 264     the same without an operand; a launch has 264 blocks
//     kernel k0 followed             its code is two launches
//     kernel k0 library              a library runs it, and may overwrite its last operand before the result
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/plan.h"

namespace gcg::test {

struct PlanCase {
  std::string file, name;
  int line = 0;
  std::vector<std::string> passes;
  std::string plan, expected;
};

/// The cases of all files in a folder. Throws on a malformed file.
std::vector<PlanCase> read_plan_cases(const std::string& folder);
void run_plan_case(const PlanCase& c);

}  // namespace gcg::test
