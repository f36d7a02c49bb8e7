#include "compiler/import/node_order.h"

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace gcg {
namespace {

using Names = std::unordered_set<std::string_view>;
using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

void add_reads(const onnx::NodeProto& node, Names& reads);

/// Adds the names that a subgraph reads from the graphs around it.
void add_reads(const onnx::GraphProto& body, Names& reads) {
  Names inside;
  for (const auto& node : body.node()) add_reads(node, inside);
  for (const auto& output : body.output()) inside.insert(output.name());
  for (const auto& input : body.input()) inside.erase(input.name());
  for (const auto& tensor : body.initializer()) inside.erase(tensor.name());
  for (const auto& node : body.node())
    for (const std::string& name : node.output()) inside.erase(name);
  reads.insert(inside.begin(), inside.end());
}

void add_reads(const onnx::NodeProto& node, Names& reads) {
  for (const std::string& input : node.input())
    if (!input.empty()) reads.insert(input);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) add_reads(attribute.g(), reads);
    for (const onnx::GraphProto& body : attribute.graphs()) add_reads(body, reads);
  }
}

struct Dependencies {
  std::vector<std::vector<int>> readers;  // by node
  std::vector<int> missing;               // per node: how many producers it waits for
  bool in_order = true;
};

Dependencies dependencies_of(const NodeProtos& nodes) {
  std::unordered_map<std::string_view, int> makers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].output())
      if (!output.empty()) makers.emplace(output, i);
  const auto count = static_cast<size_t>(nodes.size());
  Dependencies out{std::vector<std::vector<int>>(count), std::vector<int>(count, 0)};
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string_view name : reads_of(nodes[i])) {
      const auto maker = makers.find(name);
      if (maker == makers.end()) continue;
      out.readers[static_cast<size_t>(maker->second)].push_back(i);
      ++out.missing[static_cast<size_t>(i)];
      out.in_order = out.in_order && maker->second < i;
    }
  }
  return out;
}

}  // namespace

std::unordered_set<std::string_view> reads_of(const onnx::NodeProto& node) {
  Names reads;
  add_reads(node, reads);
  return reads;
}

std::vector<const onnx::NodeProto*> topological_order(const NodeProtos& nodes) {
  std::vector<const onnx::NodeProto*> order;
  Dependencies dependencies = dependencies_of(nodes);
  if (dependencies.in_order) {
    for (const auto& node : nodes) order.push_back(&node);
    return order;
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (dependencies.missing[static_cast<size_t>(i)] == 0) ready.push(i);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(&nodes[i]);
    for (const int reader : dependencies.readers[static_cast<size_t>(i)])
      if (--dependencies.missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  for (int i = 0; i < nodes.size(); ++i)
    if (dependencies.missing[static_cast<size_t>(i)] > 0) order.push_back(&nodes[i]);
  return order;
}

}  // namespace gcg
