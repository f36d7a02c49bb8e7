// Schedules as text: every *.gir file in this folder holds cases of the form
//
//     CASE the epilogue of a product takes bias and activation
//     graph g(%x: f32[4,8]) -> (%y) { ... }
//     EXPECT
//     matmul %x %w %bias -> %y
//
// EXPECT has one line per step: its kind, the buffers that it reads (by name), "->", and the buffer that it writes. A
// buffer is named after its value. "over %x": the result takes over the storage of %x. After a kernel's name, [stages]
// lists its stages if there are several, and a product with batch axes has its extents [batch BxB, MxNxK]. Steps of
// subgraphs are indented under their step. The graph is scheduled unchanged, without passes. Then the test compiles the
// graph with passes, runs it, and compares the results with the interpreter.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/plan.h"

namespace gcg::test {

struct ScheduleCase {
  std::string file, name;
  int line = 0;
  std::string graph, steps;
};

/// The cases of all files in a folder. Throws on a malformed file.
std::vector<ScheduleCase> read_schedule_cases(const std::string& folder);
void run_schedule_case(const ScheduleCase& c);

/// The steps of a schedule with planned memory, in this format.
std::string step_text(const Plan& plan);

/// One tensor per graph input; symbols become 2, 3, 4, ..., integers are in [0, 3).
std::vector<Tensor> random_inputs(const Graph& graph, uint32_t seed);
/// Compiles the graph, runs it on every target that this machine has, and compares with the interpreter.
void expect_runs_like_interpreter(const Graph& graph, const std::vector<uint8_t>& artifact, uint32_t seed,
                                  double tolerance);

}  // namespace gcg::test
