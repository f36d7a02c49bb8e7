// Libraries of named functions. A function is a subgraph of a model in an ONNX file of its own. Graph::import_onnx of
// models that call functions, gcc-graph compile --functions and lazy::import_function read these files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

struct FunctionSummary {
  struct Value {
    std::string name, type;  ///< "f32[n,64]"; empty where it is not known
  };
  std::string name;  ///< "functions::Block"
  std::vector<Value> inputs, outputs;
  int64_t nodes = 0;           ///< without Constant nodes
  int64_t constant_bytes = 0;  ///< bytes of the function's tensors
  std::vector<std::string> calls;
  std::map<std::string, std::string> labels;
};

/// The library as the bytes of a file, and the function that was added or removed.
struct ChangedLibrary {
  std::vector<uint8_t> bytes;
  FunctionSummary function;
  bool is_empty = false;
};

struct CarveOptions {
  std::string name;                   ///< "Block", "acme::Block"; empty: a name derived from the computation
  std::vector<std::string> from, to;  ///< names of the model's values: the function's inputs and outputs, in order
  /// Labels that are stored with the function: gart.device, gart.group, gart.tuning.
  std::map<std::string, std::string> labels;
};

/// Adds the subgraph of a model that computes `to` from `from` to a library, which need not exist. Throws Error for
/// values that the model does not have (with the nearest names), and for outputs that do not depend on the inputs.
/// Throws Error also for required inputs that are not listed, a name that is taken, and recursive functions.
GCC_GRAPH_API ChangedLibrary add_function(const std::string& library_path, const std::string& model_path,
                                          const CarveOptions& options);
/// The library without the function. Throws Error if it has no function of this name, or another function calls it.
GCC_GRAPH_API ChangedLibrary remove_function(const std::string& library_path, const std::string& name);
/// Sorted by name.
GCC_GRAPH_API std::vector<FunctionSummary> list_functions(const std::string& library_path);

}  // namespace gcc_graph
