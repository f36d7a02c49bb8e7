#include "compiler/partition/runs_on.h"

#include <fnmatch.h>

#include <algorithm>

#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// What a pattern can be about.
struct Subject {
  std::string operator_name;
  std::vector<std::string> types;
};

Subject subject_of(const Graph& graph, const Node& node) {
  Subject s;
  const std::string domain = node.op->domain;
  s.operator_name = domain.empty() ? node.op->name : concat(domain, ".", node.op->name);
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs})
    for (ValueId v : *values)
      if (v.valid()) s.types.emplace_back(name_of(graph.value(v).dtype));
  return s;
}

bool names_a_type(const std::string& pattern) {
  for (int t = 0; t <= static_cast<int>(DType::u2); ++t)
    if (fits_pattern(pattern, std::string(name_of(static_cast<DType>(t))))) return true;
  return false;
}

/// Why the device does not run the node itself; empty: it does.
std::string refusal(const FleetDevice& device, const Subject& s) {
  for (const std::string& pattern : device.denies) {
    if (fits_pattern(pattern, s.operator_name)) return concat("denies ", pattern);
    for (const std::string& type : s.types)
      if (fits_pattern(pattern, type)) return concat("denies ", pattern);
  }
  std::vector<std::string> operators, types;
  for (const std::string& pattern : device.supports)
    (names_a_type(pattern) && pattern != "*" ? types : operators).push_back(pattern);
  const auto supported = [](const std::vector<std::string>& patterns, const std::string& text) {
    return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                           [&](const std::string& pattern) { return fits_pattern(pattern, text); });
  };
  if (!supported(operators, s.operator_name)) return concat("does not support ", s.operator_name);
  for (const std::string& type : s.types)
    if (!supported(types, type)) return concat("does not support ", type);
  return "";
}

/// The same with the nodes in its bodies.
std::string refusal(const FleetDevice& device, const Graph& graph, const Node& node) {
  std::string why = refusal(device, subject_of(graph, node));
  for (const auto& body : node.bodies)
    for (int64_t i = 0; i < body->node_count() && why.empty(); ++i)
      if (!body->node(NodeId(i)).erased) why = refusal(device, *body, body->node(NodeId(i)));
  return why;
}

}  // namespace

bool fits_pattern(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool runs_on(const FleetDevice& device, const Graph& graph, const Node& node) {
  return refusal(device, graph, node).empty();
}

std::vector<int> support_of(const Fleet& fleet, const Graph& graph, const Node& node) {
  std::vector<int> devices;
  std::string said;
  for (size_t d = 0; d < fleet.devices.size(); ++d) {
    const std::string why = refusal(fleet.devices[d], graph, node);
    if (why.empty()) devices.push_back(static_cast<int>(d));
    said += concat(said.empty() ? "" : "; ", "'", fleet.devices[d].name, "' ", why);
  }
  if (devices.empty())
    fail("node '", node.name, "' (", subject_of(graph, node).operator_name,
         "): no device of the fleet runs it: ", said.empty() ? "the fleet has none" : said);
  return devices;
}

}  // namespace gcg
