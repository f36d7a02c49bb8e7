// The engines that cuDNN has for a graph of operations, each with its knobs set: an engine's configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/libraries/cudnn_graph.h"

namespace gart::cuda {

/// What the heuristic of this mode proposes, the best one first; none: `refusal` may say why. Throws Failure.
std::vector<CudnnDescriptor> propose_engines(const CudnnFunctions& dnn, const CudnnGraph& graph,
                                             cudnnBackendHeurMode_t mode, cudnnStatus_t& refusal);

/// The one that an artifact names by these numbers, last, and before it what it points to. Throws Failure where the
/// library has it not, or not for this graph. `device`: the one that plans are made for, where it is only described.
std::vector<CudnnDescriptor> stored_engine(const CudnnFunctions& dnn, const CudnnGraph& graph,
                                           std::span<const int64_t> numbers, const CudnnDescriptor* device = nullptr);

/// The numbers that name it.
std::vector<int64_t> numbers_of_engine(const CudnnFunctions& dnn, const CudnnDescriptor& config,
                                       const std::string& step);

struct EngineNotes {
  bool accurate;   // enough for what the call asks
  bool populates;  // it adds its work to a graph itself
};
EngineNotes notes_of_engine(const CudnnFunctions& dnn, const CudnnDescriptor& config, const CallProblem& problem);

}  // namespace gart::cuda
