// Messages for a name that cannot be resolved.
#include <deque>

#include "compiler/import/graph_importer.h"

namespace gcg {
namespace {

const onnx::NodeProto* producer_of(const NodeProtos& nodes, const std::string& name) {
  for (const auto& node : nodes)
    for (const std::string& output : node.output())
      if (output == name) return &node;
  return nullptr;
}

/// True if `from` needs an output of `target`, directly or through other nodes of the list. Names that subgraphs read
/// are ignored.
bool depends_on(const NodeProtos& nodes, const onnx::NodeProto& from, const onnx::NodeProto& target) {
  std::map<std::string, const onnx::NodeProto*> producers;
  for (const auto& node : nodes)
    for (const std::string& output : node.output()) producers.emplace(output, &node);
  std::set<const onnx::NodeProto*> seen{&from};
  for (std::deque<const onnx::NodeProto*> next{&from}; !next.empty(); next.pop_front()) {
    if (next.front() == &target) return true;
    for (const std::string& input : next.front()->input()) {
      const auto producer = producers.find(input);
      if (producer != producers.end() && seen.insert(producer->second).second) next.push_back(producer->second);
    }
  }
  return false;
}

}  // namespace

std::string missing_value(const Scope& scope, const std::string& name, const onnx::NodeProto* reader) {
  for (const Scope* s = &scope; s != nullptr; s = s->outer) {
    const onnx::NodeProto* producer = s->nodes != nullptr ? producer_of(*s->nodes, name) : nullptr;
    if (producer == nullptr) continue;
    const std::string maker = node_name(s->environment, *producer);
    if (reader != nullptr && s == &scope && depends_on(*s->nodes, *producer, *reader))
      return concat("which node '", maker, "' makes from its result: the graph has a cycle");
    return concat("which node '", maker, "' cannot make: it needs the result of a cycle of nodes");
  }
  return "which no node of the model makes";
}

}  // namespace gcg
