// Files of named functions: adds a subgraph of a model as a function, lists functions, removes them.
//
// A function is a FunctionProto. Its inputs and outputs are the values that bound the carved subgraph; nodes and opsets
// are the model's. Weights in the subgraph become Constant nodes, unless they are listed as inputs. The functions of
// the model that the subgraph calls are added too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/functions/carve_options.h"

namespace gcg {

struct FunctionSummary {
  struct Value {
    std::string name, type;  // "f32[n,64]"; empty if unknown
  };
  std::string name;  // "functions::Block"
  std::vector<Value> inputs, outputs;
  int64_t nodes = 0;           // without Constant nodes
  int64_t constant_bytes = 0;  // bytes of the function's constant tensors
  std::vector<std::string> calls;
  std::map<std::string, std::string> labels;
};

/// The bytes of a library file, and the functions that were added or removed.
struct ChangedLibrary {
  std::vector<uint8_t> bytes;
  FunctionSummary function;
  bool is_empty = false;
};

/// Adds the subgraph of the model at `model_path` that computes `to` from `from` to the library at `library_path`,
/// which need not exist. Throws CompileError for:
/// * values that the model does not have (with the nearest ones),
/// * outputs that do not depend on the inputs,
/// * inputs that are needed but not listed, or listed but not needed,
/// * a name that is taken, and functions that would call themselves,
/// * libraries past 2 GiB.
ChangedLibrary add_function(const std::string& library_path, const std::string& model_path,
                            const CarveOptions& options);

/// The library without the function. Fails if the library has no such function, or if another function calls it.
ChangedLibrary remove_function(const std::string& library_path, const std::string& name);

/// Sorted by name.
std::vector<FunctionSummary> list_functions(const std::string& library_path);

}  // namespace gcg
