// Compiles a graph to an artifact, as gcc-graph compile does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gcc_graph/graph.h"

namespace gcc_graph {

/// The fields mean the same as the options of gcc-graph compile with these names.
struct CompileOptions {
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  /// Example: {"batch", {1, 8}} adds static plans for batch 1 and 8 in addition to the symbolic one.
  std::vector<std::pair<std::string, std::vector<int64_t>>> dims = {};
  std::vector<std::string> assignments = {};      ///< "PATTERN=cpu": nodes for the CPU, for gart::fleet::load
  std::string precision = "fp32";                 ///< fp32, tf32, fp16, bf16
  std::vector<std::string> libraries = {"none"};  ///< none; auto; or cublasLt, cudnn
  /// "auto", or "PAST=PRESENT" with a "*" in both: outputs that become the input of the next run of a gart::Session.
  std::vector<std::string> states = {};
  /// "loss=cross_entropy(logits,labels:i64[batch]),optimizer=adamw(lr=input),frozen=encoder.*": the file gets the
  /// entries infer, train and evaluate. Empty: it does not train.
  std::string train = {};
  int64_t capacity = 0;                      ///< limit of the extent along which states grow; 0: none
  int64_t cache_window = 0;                  ///< attention reads and keeps at most that many tokens; 0: all
  std::string cache = {};                    ///< folder for assembled GPU kernels; empty: the user's cache
  std::optional<int64_t> memory_limit = {};  ///< limit of the arena, in bytes
  int threads = 1;
  std::vector<std::string> disabled_passes = {};
  std::function<void(const std::string&)> progress = {};
};

struct PlanReport {
  int entry_point = 0;                             ///< 0: the model; 1 and up: further models, or its parts
  std::string entry;                               ///< the entry point's name, if the file has several models
  std::string target, shapes;                      ///< "symbolic", "batch=1"
  int64_t steps = 0, kernels = 0;                  ///< in the file
  std::map<std::string, int64_t> calls;            ///< library -> number of steps that it runs
  int64_t arena_bytes = 0, arena_lower_bound = 0;  ///< only for static plans
};

/// A group of nodes that runs on one device of a fleet.
struct GroupReport {
  std::string name, device;          ///< `device`: the device that runs the group
  std::vector<std::string> devices;  ///< devices that support the group
  int64_t nodes = 0, calls = 0;      ///< calls: number of subgraph runs
  int64_t bytes_in = 0, bytes_out = 0;
  int fusions_lost = 0;  ///< inputs that one kernel would produce and read without the cut
};

struct CutReport {
  struct Launches {
    std::string target;
    /// Launches in one run of the whole model on one device, and in one run of all its parts.
    int64_t whole = 0, parts = 0;
  };
  std::string rules;
  std::vector<GroupReport> groups;
  std::vector<Launches> launches;
  /// Time of one run with this placement, and of one run of the whole model on `whole_on`, its fastest single device.
  /// A `whole_us` of 0 means that no device runs the whole model.
  double predicted_us = 0, whole_us = 0;
  std::string whole_on;
};

struct Compiled {
  std::vector<uint8_t> artifact;  ///< the bytes, for gart::load or save()
  std::vector<PlanReport> plans;
  std::optional<CutReport> cut;  ///< present if the model is compiled for a fleet
  int64_t weight_bytes = 0, code_bytes = 0;
  std::vector<std::string> remarks;
  std::vector<std::string> faster;  ///< one sentence for each option that would make the file faster
};

/// Leaves the graph unchanged. Throws Error.
GCC_GRAPH_API Compiled compile(const Graph& graph, const CompileOptions& options = {});

/// Writes to a temporary file in the same folder and renames it, so a failure leaves no partial file. Throws Error.
GCC_GRAPH_API void save(const Compiled& compiled, const std::string& path);

/// The graph as an ONNX model. Throws Error that names the construct that ONNX cannot express.
GCC_GRAPH_API std::vector<uint8_t> to_onnx(const Graph& graph);

}  // namespace gcc_graph
