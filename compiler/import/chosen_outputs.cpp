#include "compiler/import/chosen_outputs.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/node_order.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

using Names = std::unordered_set<std::string_view>;
using Makers = std::unordered_map<std::string_view, int>;

void check(const onnx::GraphProto& graph, const Makers& makers, const std::vector<std::string>& outputs) {
  Names known;
  for (const auto& [name, node] : makers) known.insert(name);
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& tensor : graph.initializer()) known.insert(tensor.name());
  Names seen;
  for (const std::string& name : outputs) {
    if (!seen.insert(name).second) fail("value '", name, "' is listed as an output twice");
    if (known.count(name) == 0)
      fail("the model has no value '", name, "' that could be an output",
           nearest(name, std::vector<std::string>(known.begin(), known.end())));
  }
}

/// Removes the elements that `keep` rejects; the order stays.
template <class Field, class Keep>
void filter(Field& field, const Keep& keep) {
  int remaining = 0;
  for (int i = 0; i < field.size(); ++i)
    if (keep(i)) field.SwapElements(remaining++, i);
  field.DeleteSubrange(remaining, field.size() - remaining);
}

}  // namespace

void choose_outputs(onnx::ModelProto& model, const std::vector<std::string>& outputs) {
  if (outputs.empty()) return;
  onnx::GraphProto& graph = *model.mutable_graph();
  Makers makers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& output : graph.node(i).output())
      if (!output.empty()) makers.emplace(output, i);
  check(graph, makers, outputs);
  std::vector<bool> needed(static_cast<size_t>(graph.node_size()), false);
  Names read(outputs.begin(), outputs.end());
  std::vector<std::string_view> open(outputs.begin(), outputs.end());
  while (!open.empty()) {
    const auto maker = makers.find(open.back());
    open.pop_back();
    if (maker == makers.end() || needed[static_cast<size_t>(maker->second)]) continue;
    needed[static_cast<size_t>(maker->second)] = true;
    for (const std::string_view name : reads_of(graph.node(maker->second)))
      if (read.insert(name).second) open.push_back(name);
  }
  filter(*graph.mutable_input(), [&](int i) { return read.count(graph.input(i).name()) != 0; });
  filter(*graph.mutable_initializer(), [&](int i) { return read.count(graph.initializer(i).name()) != 0; });
  filter(*graph.mutable_node(), [&](int i) { return needed[static_cast<size_t>(i)]; });
  graph.clear_output();
  for (const std::string& name : outputs) graph.add_output()->set_name(name);
}

}  // namespace gcg
