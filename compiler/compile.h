// The compiler's one entry: a model in, artifact bytes out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cut_report.h"
#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"
#include "compiler/kernel/backend.h"
#include "compiler/partition/cut.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/bind_libraries.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/remark.h"

namespace gcg {

struct CompileOptions {
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  /// --dim batch=1,8: values asked for per symbol. One static plan per combination, beside the symbolic plan.
  std::vector<std::pair<std::string, std::vector<int64_t>>> dims;
  Precision precision = Precision::fp32;  // of contractions on GPUs; fp32: for a model in f16 or bf16 that type
  const Decisions* decisions = nullptr;   // that override the GPU backend's cost model
  LibraryOptions libraries;               // what GPUs' libraries may do instead of kernels
  /// Devices that the model is cut for: the file then has parts beside the whole model. Absent: it stays whole, but for
  /// what asks for a GPU and the CPU (implied_fleet).
  std::optional<Fleet> fleet;
  CutOptions cut;
  /// What some inputs are in every run. Passes of the model treat them as inputs, so nothing is computed of them ahead
  /// of time, and results are the same bits as with inputs; plans have them as constants. Not for a fleet.
  std::map<std::string, TensorRef> parameters;
  std::vector<std::string> keep;  // lists of values that can be fetched from runs on a fleet, by their ONNX names
  /// By output: what its numbers or its columns are called (artifact_schema/gart.fbs, TensorInfo.labels).
  std::map<std::string, std::vector<std::string>> labels;
  /// What the model's author wrote about it; the artifact keeps it.
  std::map<std::string, std::string> metadata;
  std::optional<int64_t> memory_limit;  // bytes of arena; exceeded: CompileError naming the largest live sets
  int threads = 1;                      // host threads for code generation
  PassOptions passes;
  bool print_plan = false;  // every plan to passes.out
  /// Called with a short text when a stage begins ("import", "passes", "code x86-64-v4 12/40"); may be empty.
  std::function<void(const std::string&)> progress;
};

struct CompileResult {
  std::vector<uint8_t> artifact;
  std::vector<PlanReport> plans;
  std::optional<CutReport> cut;  // for a fleet
  int64_t weight_bytes = 0, code_bytes = 0;
  std::vector<Remark> remarks;  // where GPUs wait, idle libraries, idle assignments
};

using Backends = std::vector<std::unique_ptr<Backend>>;

/// Compiles a graph as the importer made it. `source_hash` goes into the provenance. Throws CompileError. The artifact
/// is empty if --stop-after ended the work.
CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options,
                      const Backends& backends);

}  // namespace gcg
