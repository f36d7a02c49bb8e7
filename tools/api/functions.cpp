#include "gcc_graph/functions.h"

#include "compiler/functions/function_library_file.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {
namespace {

std::vector<FunctionSummary::Value> values(std::vector<gcg::FunctionSummary::Value> source) {
  std::vector<FunctionSummary::Value> out;
  for (auto& value : source) out.push_back({std::move(value.name), std::move(value.type)});
  return out;
}

FunctionSummary summary(gcg::FunctionSummary source) {
  return {std::move(source.name), values(std::move(source.inputs)), values(std::move(source.outputs)), source.nodes,
          source.constant_bytes,  std::move(source.calls),          std::move(source.labels)};
}

ChangedLibrary changed(gcg::ChangedLibrary source) {
  return {std::move(source.bytes), summary(std::move(source.function)), source.is_empty};
}

}  // namespace

ChangedLibrary add_function(const std::string& library_path, const std::string& model_path,
                            const CarveOptions& options) {
  return detail::guarded([&] {
    return changed(
        gcg::add_function(library_path, model_path, {options.name, options.from, options.to, options.labels}));
  });
}

ChangedLibrary remove_function(const std::string& library_path, const std::string& name) {
  return detail::guarded([&] { return changed(gcg::remove_function(library_path, name)); });
}

std::vector<FunctionSummary> list_functions(const std::string& library_path) {
  return detail::guarded([&] {
    std::vector<FunctionSummary> out;
    for (gcg::FunctionSummary& source : gcg::list_functions(library_path)) out.push_back(summary(std::move(source)));
    return out;
  });
}

}  // namespace gcc_graph
