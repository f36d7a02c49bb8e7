// Functions of ONNX libraries. The graph of a function, for inputs of certain types, is recorded node by node. The
// recording is then used like any other.
#include <map>

#include "compiler/functions/call_function.h"
#include "compiler/functions/function_library_file.h"
#include "compiler/support/error.h"
#include "tools/lazy/record_graph.h"

namespace gcc_graph::lazy {

std::vector<std::string> functions(const std::vector<std::string>& libraries) {
  try {
    std::map<std::string, std::string> where;
    for (const std::string& path : libraries)
      for (const gcg::FunctionSummary& function : gcg::list_functions(path))
        if (const auto [it, fresh] = where.emplace(function.name, path); !fresh)
          gcg::fail("the function '", function.name, "' is in ", it->second, " and in ", path);
    std::vector<std::string> names;
    for (const auto& [name, path] : where) names.push_back(name);
    return names;
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

Recording import_function(const std::string& name, std::span<const Array> like,
                          const std::vector<std::string>& libraries) {
  try {
    std::vector<std::pair<gcg::DType, std::vector<int64_t>>> types;
    std::vector<Array> placeholders;
    for (const Array& a : like) {
      types.emplace_back(static_cast<gcg::DType>(a.dtype()), std::vector<int64_t>(a.shape().begin(), a.shape().end()));
      placeholders.push_back(Array::placeholder(a.dtype(), a.shape()));
    }
    const gcg::Graph graph = gcg::call_function(name, types, libraries);
    return {placeholders, record_graph(graph, placeholders)};
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

}  // namespace gcc_graph::lazy
