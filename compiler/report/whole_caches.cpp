#include "compiler/report/whole_caches.h"

#include <algorithm>

#include "compiler/passes/append_caches.h"

namespace gcg {

std::optional<WholeCaches> whole_caches(const Graph& graph) {
  WholeCaches found;
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    const int64_t window = n.int_attribute("local_window_size", -1);
    if (!n.has_attribute(kAppendsAttribute) || window < 1) continue;
    found.nodes.push_back(n.name);
    found.window = std::max(found.window, window);
  }
  if (found.nodes.empty()) return std::nullopt;
  return found;
}

}  // namespace gcg
