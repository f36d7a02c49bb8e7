// Libraries of named functions: sub-graphs of models, carved out into ONNX files of their own, which Graph::import_onnx
// of models that call them, gcc-graph compile --functions and lazy::import_function read.
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
  int64_t nodes = 0;           ///< Constant nodes left out
  int64_t constant_bytes = 0;  ///< of the tensors in it
  std::vector<std::string> calls;
  std::map<std::string, std::string> labels;
};

/// A library as bytes of a file, and what was added or removed.
struct ChangedLibrary {
  std::vector<uint8_t> bytes;
  FunctionSummary function;
  bool is_empty = false;
};

struct CarveOptions {
  std::string name;                           ///< "Block", "acme::Block"; empty: made from what it computes
  std::vector<std::string> from, to;          ///< values of the model, by name: inputs and outputs in their order
  std::map<std::string, std::string> labels;  ///< what goes with it: gart.device, gart.group, gart.tuning
};

/// The sub-graph of a model that computes `to` from `from`, added to a library, which need not exist. Throws Error: for
/// values that the model does not have (with the nearest ones), outputs that do not depend on the inputs, inputs that
/// it needs and that are not listed, a name that is taken, functions that would call themselves.
GCC_GRAPH_API ChangedLibrary add_function(const std::string& library_path, const std::string& model_path,
                                          const CarveOptions& options);
/// The library without the function; throws Error where it has none of this name, or another one calls it.
GCC_GRAPH_API ChangedLibrary remove_function(const std::string& library_path, const std::string& name);
/// In the order of their names.
GCC_GRAPH_API std::vector<FunctionSummary> list_functions(const std::string& library_path);

}  // namespace gcc_graph
