// From a graph to an artifact: what gcc-graph compile does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gcc_graph/graph.h"

namespace gcc_graph {

/// As the options of gcc-graph compile of the same names.
struct CompileOptions {
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  /// {"batch", {1, 8}}: static plans beside the open one.
  std::vector<std::pair<std::string, std::vector<int64_t>>> dims = {};
  std::vector<std::string> assignments = {};      ///< "PATTERN=cpu": a cut, for gart::fleet::load
  std::string precision = "fp32";                 ///< fp32, tf32, fp16, bf16
  std::vector<std::string> libraries = {"none"};  ///< none; auto; or cublasLt, cudnn
  std::string cache = {};                         ///< folder of GPU kernels assembled before; empty: the user's
  std::optional<int64_t> memory_limit = {};       ///< bytes of arena
  int threads = 1;
  std::vector<std::string> disabled_passes = {};
  std::function<void(const std::string&)> progress = {};
};

struct PlanReport {
  int entry_point = 0;                             ///< 0: the whole model, then its parts
  std::string target, shapes;                      ///< "symbolic", "batch=1"
  int64_t steps = 0, kernels = 0;                  ///< in the file
  std::map<std::string, int64_t> calls;            ///< by library, steps that it does
  int64_t arena_bytes = 0, arena_lower_bound = 0;  ///< of static plans
};

/// A group of nodes that one device of a fleet has.
struct GroupReport {
  std::string name, device;          ///< where it was placed
  std::vector<std::string> devices;  ///< that support it
  int64_t nodes = 0, calls = 0;      ///< runs of parts
  int64_t bytes_in = 0, bytes_out = 0;
  int fusions_lost = 0;  ///< values that come in where one kernel would have done both sides
};

struct CutReport {
  struct Launches {
    std::string target;
    int64_t whole = 0, parts = 0;  ///< of a run of the whole model on one device, and of all its parts
  };
  std::string rules;
  std::vector<GroupReport> groups;
  std::vector<Launches> launches;
  double predicted_us = 0, whole_us = 0;  ///< of a run as placed, and whole on `whole_on`, the soonest; 0: none does
  std::string whole_on;
};

struct Compiled {
  std::vector<uint8_t> artifact;  ///< for gart::load, or to be written to a file
  std::vector<PlanReport> plans;
  std::optional<CutReport> cut;  ///< for a fleet
  int64_t weight_bytes = 0, code_bytes = 0;
  std::vector<std::string> remarks;
};

/// The graph stays as it is. Throws Error.
GCC_GRAPH_API Compiled compile(const Graph& graph, const CompileOptions& options = {});

/// Writes the artifact beside its place and renames it: a failure leaves nothing half-written. Throws Error.
GCC_GRAPH_API void save(const Compiled& compiled, const std::string& path);

/// The graph as an ONNX model. Throws Error naming what ONNX cannot say.
GCC_GRAPH_API std::vector<uint8_t> to_onnx(const Graph& graph);

}  // namespace gcc_graph
