// Libraries of named functions as files: carving sub-graphs of models out into them, listing, removing.
//
// A function is a FunctionProto: its inputs and outputs are values between which it was carved out, its nodes are the
// model's, its opsets too. Weights in it become Constant nodes, unless they are listed as inputs. Functions of the
// model that it calls come along.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/functions/carve_options.h"

namespace gcg {

struct FunctionSummary {
  struct Value {
    std::string name, type;  // "f32[n,64]"; empty where it is not known
  };
  std::string name;  // "functions::Block"
  std::vector<Value> inputs, outputs;
  int64_t nodes = 0;           // Constant nodes left out
  int64_t constant_bytes = 0;  // of the tensors in it
  std::vector<std::string> calls;
  std::map<std::string, std::string> labels;
};

/// A library as bytes of a file, and what was added or removed.
struct ChangedLibrary {
  std::vector<uint8_t> bytes;
  FunctionSummary function;
  bool is_empty = false;
};

/// The sub-graph of the model at `model_path` that computes `to` from `from`, added to the library at `library_path`,
/// which need not exist. Throws CompileError: for values that the model does not have (with the nearest ones), outputs
/// that do not depend on the inputs, inputs that it needs and that are not listed or are listed and not needed, a name
/// that is taken, functions that would call themselves, and libraries past 2 GiB.
ChangedLibrary add_function(const std::string& library_path, const std::string& model_path,
                            const CarveOptions& options);

/// The library without the function; fails where it has none of this name, and where another one calls it.
ChangedLibrary remove_function(const std::string& library_path, const std::string& name);

/// In the order of their names.
std::vector<FunctionSummary> list_functions(const std::string& library_path);

}  // namespace gcg
