// Measures how many runs per second concurrent callers achieve together.
#pragma once

#include <cstdint>
#include <string>

#include "tools/gcc-graph/io/tensor_io.h"

namespace gcg::tools {

struct Throughput {
  int callers = 0;
  int64_t runs = 0;
  double runs_per_second = 0;         // runs per second of all callers together
  double runs_per_second_of_one = 0;  // runs per second of a single caller, measured in turns with the others
};

/// Each caller repeatedly runs an invocation of its own. The best of several measurements counts. Fails if a run fails.
Throughput measure_throughput(const gart::Program& program, const NamedTensors& inputs, int callers, double seconds);

/// Describes the machine's cores, which limit the gain of concurrent callers: "2 cores", "2 threads of 1 core, which
/// share its units".
std::string cores_text();

}  // namespace gcg::tools
