// The ways to compute a model's products, measured on this machine's GPU: what compile_model takes as
// ModelOptions.tuning.
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

/// Of CompileOptions: dims, precision, libraries, cache, threads and progress; one target, of a GPU, or none: the best
/// one for the first GPU.
struct TuneOptions : CompileOptions {
  TuneOptions() { targets.clear(); }
  std::vector<std::string> functions;
  int launches = 20;   ///< of a kernel in each run
  bool again = false;  ///< measure what is known already, too
  /// What a run of an artifact on the GPU takes, in microseconds; its inputs may be anything.
  std::function<double(std::span<const uint8_t> artifact)> run_us;
};

struct Tuned {
  std::string target, tuning;                       ///< JSON; what was known already is kept
  int64_t measured = 0, known = 0, in_all = 0;      ///< shapes
  int64_t open = 0;                                 ///< kernels that were left, for an extent of theirs is open
  std::map<std::string, std::string> not_measured;  ///< libraries, and why not
};

/// Throws Unsupported, or Error of one sentence: among them that there is no GPU.
GCC_GRAPH_API Tuned tune(const std::string& model, const TuneOptions& options,
                         const std::optional<NamedText>& known = {});

/// Machine code of a CUDA text for a GPU's target, for programs that measure; empty for a target that is not known.
/// Throws Error where NVRTC is missing, or with what it says of the text.
GCC_GRAPH_API std::vector<uint8_t> assemble_cuda(const std::string& text, const std::string& target);

}  // namespace gcc_graph
