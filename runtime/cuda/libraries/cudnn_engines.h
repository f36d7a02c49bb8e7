// The engine configurations that cuDNN has for a graph of operations: an engine with each of its knobs set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/libraries/cudnn_graph.h"

namespace gart::cuda {

/// The engines that the heuristic proposes in this mode, best first. If empty, `refusal` may give the reason. Throws
/// Failure.
std::vector<CudnnDescriptor> propose_engines(const CudnnFunctions& dnn, const CudnnGraph& graph,
                                             cudnnBackendHeurMode_t mode, cudnnStatus_t& refusal);

/// The engine that these numbers of an artifact identify, as the last element. The descriptors that it points to come
/// before it. Throws Failure if the library does not have the engine, or the engine does not run this graph. `device`:
/// the description of a device to plan for; may be null.
std::vector<CudnnDescriptor> stored_engine(const CudnnFunctions& dnn, const CudnnGraph& graph,
                                           std::span<const int64_t> numbers, const CudnnDescriptor* device = nullptr);

/// The numbers that identify the engine.
std::vector<int64_t> numbers_of_engine(const CudnnFunctions& dnn, const CudnnDescriptor& config,
                                       const std::string& step);

struct EngineNotes {
  bool accurate;   // True if the engine is accurate enough for the call
  bool populates;  // True if the engine itself adds its work to a graph
};
EngineNotes notes_of_engine(const CudnnFunctions& dnn, const CudnnDescriptor& config, const CallProblem& problem);

}  // namespace gart::cuda
