// The last stage: plans and machine code as artifact bytes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/kernel/library_call.h"
#include "compiler/schedule/schedule.h"

namespace gcg {

/// One shape set of the entry point for one class of devices: its schedule, and the symbols it fixes.
struct ShapePlan {
  DeviceClass device;
  SymbolValues fixed;
  Schedule schedule;
  bool at_load = false;  // no plan for runs: it makes the prepared weights, its outputs, once when a program is loaded
  std::vector<std::optional<LibraryCall>> calls = {};  // by kernel: the libraries' calls; empty: no kernel has one
  std::map<int, BufferId> other_forms = {};            // a constant's buffer -> that of the form that libraries read
  bool stand_ins = false;                              // kernels with a call have code of their own as well

  const LibraryCall* call(size_t kernel) const {
    return kernel < calls.size() && calls[kernel] ? &*calls[kernel] : nullptr;
  }
  bool has_code(size_t kernel) const { return stand_ins || call(kernel) == nullptr; }
};

inline constexpr size_t kNoKernel = static_cast<size_t>(-1);

/// The kernels of all shape sets of the target's device class, distinct, compiled for it.
struct TargetCode {
  Target target;
  CompiledBlob blob;
  /// kernel_of[p][k]: which kernel of the blob is kernel k of shape plan p, or, of a CPU's blob and a GPU's plan, host kernel
  /// k; kNoKernel where a library alone does it. Empty where p is for another device class.
  std::vector<std::vector<size_t>> kernel_of;
};

/// Weights that GPUs keep in an order or type of their own. They are not in the file: the plan with `at_load` makes them from those
/// that are.
struct PreparedWeights {
  std::map<const Tensor*, uint64_t> places;  // the tensors of the GPU plans -> where they lie in the prepared region
  std::vector<uint64_t> outputs;             // where the outputs of the plan lie
  std::set<const Tensor*> sources;           // the tensors of the other plans that the plan makes them from
  uint64_t bytes = 0;                        // of the region
};

struct Provenance {
  std::string compiler, source_hash, options, model;
  std::map<std::string, std::string> metadata = {};  // of the model
};

/// What a plan became for one target. Not what its schedule has: a call of a library has no kernel, or a kernel and a step
/// beside it; some kernels have a second launch.
struct PlanSize {
  int64_t steps = 0, kernels = 0;
};

struct EmittedArtifact {
  std::vector<uint8_t> bytes;
  int64_t weight_bytes = 0;  // of them
  std::map<std::pair<size_t, size_t>, PlanSize> sizes = {};  // by numbers of plan and target
};

/// `graph` is the imported one: its inputs, outputs and constraints become the entry point; `labels` as in CompileOptions.
EmittedArtifact emit_artifact(const Graph& graph, const std::vector<ShapePlan>& plans, const PreparedWeights& prepared,
                                   const std::vector<TargetCode>& targets, const Provenance& provenance,
                                   const std::map<std::string, std::vector<std::string>>& labels = {});

}  // namespace gcg
