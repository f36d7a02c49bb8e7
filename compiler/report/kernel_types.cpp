#include "compiler/report/kernel_types.h"

namespace gcg {
namespace {

bool is_wider(DType a, DType b) { return size_of(a) > size_of(b); }

void add_types(const Graph& graph, std::map<std::string, DType>& types) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const auto* values : {&node.inputs, &node.outputs})
      for (const ValueId value : *values) {
        if (!value.valid() || !is_float(graph.value(value).dtype)) continue;
        const auto [known, is_new] = types.try_emplace(node.name, graph.value(value).dtype);
        if (!is_new && is_wider(graph.value(value).dtype, known->second)) known->second = graph.value(value).dtype;
      }
    for (const auto& body : node.bodies) add_types(*body, types);
  }
}

}  // namespace

std::map<std::string, DType> float_types_of(const Graph& graph, std::span<const Graph> more) {
  std::map<std::string, DType> types;
  add_types(graph, types);
  for (const Graph& other : more) add_types(other, types);
  return types;
}

void add_model_types(std::vector<Plan>& plans, const std::map<std::string, DType>& types) {
  for (Plan& plan : plans)
    for (const KernelId k : plan.kernels.ids()) {
      if (plan.code[k].types.left.empty()) continue;
      DType widest = DType::undefined;
      for (const std::string& source : plan.kernels[k].sources)
        if (const auto known = types.find(source);
            known != types.end() && (widest == DType::undefined || is_wider(known->second, widest)))
          widest = known->second;
      if (widest != DType::undefined) plan.code[k].types.model = name_of(widest);
    }
}

}  // namespace gcg
