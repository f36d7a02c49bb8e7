#include "compiler/partition/partition.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Calls f for every node of the graph and of the bodies in it, with what f said of the node around it.
void each_node(const Graph& graph, bool around, const std::function<bool(const Node&, bool)>& f) {
  for (NodeId id : graph.order()) {
    const bool said = f(graph.node(id), around);
    for (const auto& body : graph.node(id).bodies) each_node(*body, said, f);
  }
}

bool matches(const Assignment& a, const Node& n) {
  return fits_pattern(a.pattern, n.name) || fits_pattern(a.pattern, n.op->name);
}

/// Views cost nothing, and what steers the run is the host's anyway: their bodies' nodes have devices.
bool has_work(const Node& n) {
  return n.bodies.empty() && n.op->kind != OpKind::view && n.op->kind != OpKind::control &&
         n.op->kind != OpKind::opaque;
}

}  // namespace

Assignment parse_assignment(const std::string& text) {
  const size_t equals = text.rfind('=');
  const std::string device = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (equals == 0 || (device != "cpu" && device != "cuda"))
    fail("--assign '", text, "' is not PATTERN=cpu or PATTERN=cuda");
  return {text.substr(0, equals), device == "cpu" ? DeviceClass::cpu : DeviceClass::cuda};
}

Partition::Partition(const Graph& model, const std::vector<Assignment>& assignments) {
  for (const Assignment& a : assignments) {
    bool any = false;
    each_node(model, false, [&](const Node& n, bool around) {
      const bool mine = around || matches(a, n);
      any |= mine;
      if (mine && a.device == DeviceClass::cpu) host_[n.name] = a.pattern;
      if (mine && a.device != DeviceClass::cpu) host_.erase(n.name);
      return mine;
    });
    const char* device = a.device == DeviceClass::cpu ? "cpu" : "cuda";
    if (!any) fail("--assign '", a.pattern, "=", device, "': no node has such a name or operator");
  }
  each_node(model, false, [&](const Node& n, bool) {
    if (n.op == &op_gart_Custom) host_[n.name] = "";
    return false;
  });
}

void Partition::check_targets(const std::vector<Target>& targets) const {
  const auto any = [&](DeviceClass d) {
    return std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.device == d; });
  };
  const auto asked = std::find_if(host_.begin(), host_.end(), [](const auto& host) { return !host.second.empty(); });
  if (host_.empty() || (asked == host_.end() && !any(DeviceClass::cuda))) return;
  if (!any(DeviceClass::cpu) && asked == host_.end())
    fail("node '", host_.begin()->first,
         "' is of a custom operator, which the CPU runs, but no CPU target is asked for; add one, ",
         "such as --target ", targets[0].name, ",x86-64-v3");
  if (!any(DeviceClass::cuda)) fail("--assign moves nodes between a GPU and the CPU, but no GPU target is asked for");
  if (!any(DeviceClass::cpu))
    fail("--assign sends nodes to the CPU, but no CPU target is asked for; add one, such as --target ", targets[0].name,
         ",x86-64-v3");
}

std::vector<std::string> Partition::apply(Graph& graph) const {
  std::set<std::string> used;
  const std::function<void(Graph&, bool)> label = [&](Graph& g, bool around) {
    for (NodeId id : g.order()) {
      Node& n = g.node(id);
      const auto it = host_.find(n.name);
      const bool mine = around || it != host_.end();
      n.on_host = mine && has_work(n);
      if (n.on_host && it != host_.end()) used.insert(it->second);
      for (const auto& body : n.bodies) {
        label(*body, mine);
        if (it != host_.end()) used.insert(it->second);
      }
    }
  };
  label(graph, false);
  std::vector<std::string> remarks;
  std::set<std::string> said;
  for (const auto& [name, pattern] : host_)
    if (!pattern.empty() && used.count(pattern) == 0 && said.insert(pattern).second)
      remarks.push_back(concat("--assign '", pattern, "=cpu' has no effect: no work is left of '", name, "'"));
  return remarks;
}

}  // namespace gcg
