#include "gcc_graph/functions.h"

#include "compiler/functions/function_library_file.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {
namespace {

std::vector<FunctionSummary::Value> values(std::vector<gcg::FunctionSummary::Value> own) {
  std::vector<FunctionSummary::Value> out;
  for (auto& value : own) out.push_back({std::move(value.name), std::move(value.type)});
  return out;
}

FunctionSummary summary(gcg::FunctionSummary own) {
  return {std::move(own.name), values(std::move(own.inputs)), values(std::move(own.outputs)), own.nodes,
          own.constant_bytes,  std::move(own.calls),          std::move(own.labels)};
}

ChangedLibrary changed(gcg::ChangedLibrary own) {
  return {std::move(own.bytes), summary(std::move(own.function)), own.is_empty};
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
    for (gcg::FunctionSummary& own : gcg::list_functions(library_path)) out.push_back(summary(std::move(own)));
    return out;
  });
}

}  // namespace gcc_graph
