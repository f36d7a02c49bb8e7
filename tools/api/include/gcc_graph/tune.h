// Measures the candidates for a model's matrix products and library calls on this machine's GPU. compile_model takes
// the result as ModelOptions.tuning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gcc_graph/compile_model.h"

namespace gcc_graph {

/// Of CompileOptions, these fields are used: dims, precision, libraries, cache, threads and progress. `targets`: one
/// GPU target, or none for the best target of the first GPU.
struct TuneOptions : CompileOptions {
  TuneOptions() { targets.clear(); }
  std::vector<std::string> functions;
  int launches = 20;   ///< number of launches of a kernel in each run
  bool again = false;  ///< also measure shapes that `known` has results for
  /// Returns the time of one run of an artifact on the GPU, in microseconds. Its inputs may hold any values.
  std::function<double(std::span<const uint8_t> artifact)> run_us;
};

struct Tuned {
  std::string target, tuning;                   ///< tuning: JSON that also contains the earlier results
  int64_t measured = 0, known = 0, in_all = 0;  ///< numbers of shapes
  int64_t open = 0;                             ///< kernels that were skipped because they have a symbolic dimension
  std::map<std::string, std::string> not_measured;  ///< library -> reason
};

/// Throws Unsupported, or Error with one sentence, for example if there is no GPU.
GCC_GRAPH_API Tuned tune(const std::string& model, const TuneOptions& options,
                         const std::optional<NamedText>& known = {});

/// Compiles a CUDA text to machine code for a GPU target, for programs that measure. Empty if the target is unknown.
/// Throws Error if NVRTC is missing or reports an error.
GCC_GRAPH_API std::vector<uint8_t> assemble_cuda(const std::string& text, const std::string& target);

}  // namespace gcc_graph
