#include "compiler/bound_parameters.h"

namespace gcg {

void bind_parameters(Graph& graph, const std::map<std::string, TensorRef>& parameters) {
  const size_t bound = std::erase_if(graph.inputs, [&](ValueId input) {
    const auto it = parameters.find(graph.value(input).name);
    if (it == parameters.end()) return false;
    graph.value(input).constant = it->second;
    return true;
  });
  for (State& state : graph.states) state.input -= bound;
}

}  // namespace gcg
