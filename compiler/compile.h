// The compiler's only entry point: takes a model, returns the bytes of an artifact.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
#include "compiler/report/faster_options.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/remark.h"
#include "compiler/train/train_options.h"

namespace gcg {

/// The model becomes three entries: `infer`, `train` and `evaluate` (compiler/train/training_entries.h).
struct Training {
  TrainOptions options;
  std::set<std::string> parameters;  // names of constants that may be trained; empty: all floats
};

struct CompileOptions {
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  /// --dim batch=1,8: the requested values of each symbol. Each combination gets a static plan, in addition to the
  /// symbolic plan.
  std::vector<std::pair<std::string, std::vector<int64_t>>> dims;
  /// Maps a symbol to another one whose values in `dims` it takes (ImportedModel::separated).
  std::map<std::string, std::string> same_dims;
  Precision precision = Precision::fp32;  // contractions on GPUs; fp32 means the model's type if that is f16 or bf16
  const Decisions* decisions = nullptr;   // override the GPU backend's cost model
  LibraryOptions libraries;               // which kernels GPU libraries may replace
  /// The devices to partition the model for; the file then has parts in addition to the whole model. Absent: the model
  /// stays whole, unless its assignments or operators need both a GPU and the CPU (implied_fleet).
  std::optional<Fleet> fleet;
  CutOptions cut;
  /// Inputs with a fixed value. Model passes still treat them as inputs: they precompute nothing from them, so results
  /// are bit-identical to a run that gets these inputs. Plans hold them as constants. Not supported with a fleet.
  std::map<std::string, TensorRef> parameters;
  /// "auto" or "PAST=PRESENT": outputs that become the input of the next run (compiler/passes/pair_states.h).
  std::vector<std::string> states;
  int64_t state_capacity = 0;     // limit of the extent along which states grow; 0: none
  int64_t cache_window = 0;       // attention reads at most that many tokens, and its caches keep only these; 0: all
  std::vector<std::string> keep;  // lists of ONNX names: values that can be fetched from runs on a fleet
  /// By output: the names of its elements or columns. By input: the strings that it distinguishes
  /// (artifact_schema/gart.fbs, TensorInfo.labels).
  std::map<std::string, std::vector<std::string>> labels;
  /// Metadata from the model's author; copied into the artifact.
  std::map<std::string, std::string> metadata;
  std::optional<Training> train;        // --train
  std::optional<int64_t> memory_limit;  // bytes of arena; if exceeded, CompileError names the largest live sets
  int threads = 1;                      // host threads for code generation
  PassOptions passes;
  bool print_plan = false;    // prints every plan to passes.out
  bool print_source = false;  // prints the source of every kernel to passes.out
  /// Called with a short text when a stage begins ("import", "passes", "code x86-64-v4 12/40"). May be empty.
  std::function<void(const std::string&)> progress;
};

struct CompileResult {
  std::vector<uint8_t> artifact;
  std::vector<PlanReport> plans;
  std::optional<CutReport> cut;  // only for a fleet
  int64_t weight_bytes = 0, code_bytes = 0;
  std::vector<Remark> remarks;  // diagnostics: where GPUs wait, unused libraries, unused assignments
  FasterOptions faster;
};

using Backends = std::vector<std::unique_ptr<Backend>>;

/// A further model for the same file, run as the entry point `name`.
struct NamedGraph {
  std::string name;
  Graph graph;
};

/// Compiles a graph as the importer made it. `source_hash` is stored in the artifact's provenance. Throws CompileError.
/// The artifact is empty if --stop-after ended the work.
/// `more`: entry points after the graph's own. Equal weights are stored once, and states of the same name are one.
CompileResult compile(Graph graph, const std::string& source_hash, const CompileOptions& options,
                      const Backends& backends, std::vector<NamedGraph> more = {});

}  // namespace gcg
