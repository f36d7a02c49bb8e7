#include "compiler/partition/runs_on.h"

#include <fnmatch.h>

#include <algorithm>

#include "compiler/kernel/device_traits.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

/// The names of a node that are compared with patterns.
struct Subject {
  std::vector<std::string> operators, types;
};

Subject subject_of(const Graph& graph, const Node& node, const OpDef* imported_as) {
  Subject s;
  s.operators = {operator_name(*node.op)};
  if (imported_as != nullptr && imported_as != node.op) s.operators.push_back(operator_name(*imported_as));
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

bool any_fits(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return fits_pattern(p, text); });
}

/// The reason why the device does not run the node itself; empty: it does.
std::string refusal(const FleetDevice& device, const Subject& s) {
  for (const std::vector<std::string>* names : {&s.operators, &s.types})
    for (const std::string& name : *names)
      if (any_fits(device.denies, name)) return concat("denies ", name);
  std::vector<std::string> operators, types;
  for (const std::string& pattern : device.supports)
    (pattern != "*" && names_a_type(pattern) ? types : operators).push_back(pattern);
  if (!operators.empty() && std::none_of(s.operators.begin(), s.operators.end(),
                                         [&](const std::string& name) { return any_fits(operators, name); }))
    return concat("does not support ", s.operators.back());
  for (const std::string& type : s.types)
    if (!types.empty() && !any_fits(types, type)) return concat("does not support ", type);
  return "";
}

/// The same, including the nodes in its subgraphs.
std::string refusal(const FleetDevice& device, const Graph& graph, const Node& node, const OpDef* imported_as) {
  if (!device.infers) return "is for training alone";
  if (!traits_of(device.kind).calls_the_application && only_on_cpus(node)) return "cannot run custom operators";
  std::string why = refusal(device, subject_of(graph, node, imported_as));
  for (const auto& body : node.bodies)
    for (int64_t i = 0; i < body->node_count() && why.empty(); ++i)
      if (!body->node(NodeId(i)).erased) why = refusal(device, *body, body->node(NodeId(i)), nullptr);
  return why;
}

}  // namespace

std::vector<IdlePattern> idle_patterns(const Fleet& fleet) {
  std::vector<std::string> operators;
  for (const OpDef* op : all_ops()) operators.push_back(operator_name(*op));
  std::vector<IdlePattern> idle;
  for (const FleetDevice& device : fleet.devices)
    for (const auto& [verb, patterns] : {std::pair{"supports", &device.supports}, std::pair{"denies", &device.denies}})
      for (const std::string& pattern : *patterns) {
        const bool fits = names_a_type(pattern) || std::any_of(operators.begin(), operators.end(),
                                                               [&](const auto& o) { return fits_pattern(pattern, o); });
        if (!fits)
          idle.push_back(
              {concat("device '", device.name, "': ", verb, " '", pattern, "'"), nearest(pattern, operators)});
      }
  return idle;
}

bool fits_pattern(const std::string& pattern, const std::string& text) {
  return pattern == text || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::string operator_name(const OpDef& op) { return *op.domain == 0 ? op.name : concat(op.domain, ".", op.name); }

bool only_on_cpus(const Node& node) {
  if (node.op == &op_gart_Custom) return true;
  return std::any_of(node.bodies.begin(), node.bodies.end(), [](const auto& body) {
    const std::vector<NodeId> nodes = body->order();
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return only_on_cpus(body->node(id)); });
  });
}

bool runs_on(const FleetDevice& device, const Graph& graph, const Node& node, const OpDef* imported_as) {
  return refusal(device, graph, node, imported_as).empty();
}

std::vector<int> support_of(const Fleet& fleet, const Graph& graph, const Node& node, const OpDef* imported_as) {
  std::vector<int> devices;
  for (size_t d = 0; d < fleet.devices.size(); ++d)
    if (runs_on(fleet.devices[d], graph, node, imported_as)) devices.push_back(static_cast<int>(d));
  if (!devices.empty()) return devices;
  std::string said;
  for (const FleetDevice& d : fleet.devices)
    said += concat(said.empty() ? "" : "; ", "'", d.name, "' ", refusal(d, graph, node, imported_as));
  fail("node '", node.name, "' (", operator_name(*node.op),
       "): no device of the fleet runs it: ", said.empty() ? "the fleet has none" : said);
}

}  // namespace gcg
