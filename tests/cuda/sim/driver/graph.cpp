#include "tests/cuda/sim/driver/graph.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace gart_sim {
namespace {

int refuse(std::string& error, std::string text, int code = kInvalidValue) {
  error = std::move(text);
  return code;
}

// The bytes of the union that the node's type does not use must be zero.
size_t used_bytes(int type) {
  switch (type) {
    case kKernelNode:
      return sizeof(KernelParams);
    case kCopyNode:
      return sizeof(CopyParams);
    case kMemsetNode:
      return sizeof(MemsetParams);
    case kHostNode:
      return 32;
    case kGraphNode:
      return 16;
    case kConditionalNode:
      return sizeof(ConditionalParams);
    default:
      return 0;
  }
}

int check_zeros(const NodeParams& params, std::string& error) {
  const bool reserved = params.reserved0[0] || params.reserved0[1] || params.reserved0[2] || params.reserved2;
  const auto* begin = params.bytes + used_bytes(params.type);
  const bool rest =
      std::any_of(begin, params.bytes + sizeof params.bytes, [](unsigned char byte) { return byte != 0; });
  if (reserved || rest)
    return refuse(error, "bytes that a node of type " + std::to_string(params.type) + " does not use are not zero");
  return 0;
}

int check_context(void* given, const Graph& graph, bool required, std::string& error) {
  if ((!given && !required) || given == graph.context) return 0;
  return refuse(error, given ? "the node names another context" : "the node names no context", kInvalidContext);
}

int make_conditional(ConditionalParams& params, Graph& graph, GraphNode& out, std::string& error) {
  const bool is_two_way = params.type == kIf && params.size == 2;
  if (params.type < kIf || params.type > kSwitch || params.size == 0)
    return refuse(error, "an unknown kind of conditional");
  if ((params.type == kSwitch || is_two_way) && World::get().driver_version < 12080) {
    return refuse(error, "SWITCH and ELSE need driver 12.8", kNotSupported);
  }
  if (params.type != kSwitch && params.size != 1 && !is_two_way) return refuse(error, "a wrong number of bodies");
  const bool known = std::any_of(graph.conditionals.begin(), graph.conditionals.end(),
                                 [&params](const auto& conditional) { return conditional.handle == params.handle; });
  if (!known) return refuse(error, "the conditional handle was not made on this graph");
  if (const int code = check_context(params.ctx, graph, true, error)) return code;
  ConditionalWork work{params.handle, params.type, {}};
  static std::map<Graph*, std::vector<void*>>
      arrays;  // params.bodies points to these arrays, which live as long as the process.
  for (unsigned i = 0; i < params.size; ++i) {
    graph.bodies.push_back(std::make_unique<Graph>());
    graph.bodies.back()->context = graph.context;
    graph.bodies.back()->is_body = true;
    work.bodies.push_back(graph.bodies.back().get());
  }
  auto& array = arrays[work.bodies[0]];
  array.assign(work.bodies.begin(), work.bodies.end());
  params.bodies = array.data();
  out.work = std::move(work);
  return 0;
}

// Runs `graph` once, with its nodes in any order that the edges allow.
int run_graph(const Graph& graph, Footprint& footprint) {
  OperationQueue queue;
  std::vector<OperationQueue::Id> ids;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = *graph.nodes[i];
    std::vector<OperationQueue::Id> after, overlapped;
    for (const size_t before : node.after) after.push_back(ids[before]);
    for (const size_t before : node.overlapped) overlapped.push_back(ids[before]);
    ids.push_back(queue.add(label_of(node, i), after, [&node](Footprint& f) { return run_node(node, f); }, overlapped));
  }
  World& world = World::get();
  while (queue.pending() > 0) {
    if (const int error = queue.advance(1, world.order)) return error;
  }
  const Footprint all = queue.touched();
  merge(footprint.reads, all.reads);
  merge(footprint.writes, all.writes);
  return 0;
}

int run_conditional(const ConditionalWork& work, Footprint& footprint) {
  constexpr int kAssumedTrips = 1 << 16;
  unsigned& value = conditional_value(work.handle);
  if (work.type == kSwitch) return value < work.bodies.size() ? run_graph(*work.bodies[value], footprint) : 0;
  if (work.type == kIf) {
    if (value) return run_graph(*work.bodies[0], footprint);
    return work.bodies.size() == 2 ? run_graph(*work.bodies[1], footprint) : 0;
  }
  for (int turn = 0; value; ++turn) {
    if (turn == kAssumedTrips) return kLaunchTimeout;
    if (const int error = run_graph(*work.bodies[0], footprint)) return error;
  }
  return 0;
}

}  // namespace

size_t Graph::find(const void* node) const {
  size_t i = 0;
  while (i < nodes.size() && nodes[i].get() != node) ++i;
  return i;
}

int HostWork::run() const {
  is_in_host_function() = true;
  function(data);
  is_in_host_function() = false;
  return 0;
}

unsigned& conditional_value(unsigned long long handle) {
  static std::map<unsigned long long, unsigned> values;
  return values[handle];
}

std::string label_of(const GraphNode& node, size_t index) {
  constexpr const char* names[] = {"kernel", "copy", "fill", "host function", "graph", "empty node"};
  std::string name = node.type < 6 ? names[node.type] : "conditional";
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) name = kernel->name();
  if (const auto* library = std::get_if<LibraryWork>(&node.work)) name = library->name;
  return "node " + std::to_string(index) + " (" + name + ")";
}

int run_node(const GraphNode& node, Footprint& footprint) {
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) return kernel->run(footprint, !node.overlapped.empty());
  if (const auto* copy = std::get_if<CopyWork>(&node.work)) return copy->run(footprint);
  if (const auto* fill = std::get_if<FillWork>(&node.work)) return fill->run(footprint);
  if (const auto* host = std::get_if<HostWork>(&node.work)) return host->run();
  if (const auto* child = std::get_if<ChildWork>(&node.work)) return run_graph(*child->graph, footprint);
  if (const auto* library = std::get_if<LibraryWork>(&node.work)) return library->run(footprint);
  if (const auto* conditional = std::get_if<ConditionalWork>(&node.work))
    return run_conditional(*conditional, footprint);
  return 0;
}

int make_node(NodeParams& params, Graph& graph, GraphNode& out, std::string& error) {
  out.type = params.type;
  if (const int code = check_zeros(params, error)) return code;
  switch (params.type) {
    case kKernelNode: {
      if (const int code = check_context(params.kernel.ctx, graph, false, error)) return code;
      KernelWork work;
      const int code = KernelWork::make(params.kernel, graph.context, work, error);
      out.work = std::move(work);
      return code;
    }
    case kCopyNode: {
      if (params.copy.flags || params.copy.reserved) return refuse(error, "flags and reserved must be 0");
      if (const int code = check_context(params.copy.ctx, graph, true, error)) return code;
      CopyWork work;
      const int code = CopyWork::make(params.copy.copy, work, error);
      out.work = work;
      return code;
    }
    case kMemsetNode: {
      if (const int code = check_context(params.memset.ctx, graph, true, error)) return code;
      FillWork work;
      const int code = FillWork::make(params.memset, work, error);
      out.work = work;
      return code;
    }
    case kHostNode:
      if (graph.is_body) return refuse(error, "no host node inside a conditional", kNotSupported);
      if (!params.host.function) return refuse(error, "no host function");
      out.work = HostWork{params.host.function, params.host.data};
      return 0;
    case kGraphNode: {
      const Graph* child = World::get().graphs.find(params.child.graph);
      if (!child) return refuse(error, "the child graph is not alive");
      if (!child->conditionals.empty()) return refuse(error, "a child graph may not hold conditionals", kNotSupported);
      out.work = ChildWork{clone(*child)};
      return 0;
    }
    case kEmptyNode:
      return 0;
    case kConditionalNode:
      return make_conditional(params.conditional, graph, out, error);
    default:
      return refuse(error, "nodes of type " + std::to_string(params.type) + " are not simulated", kNotSupported);
  }
}

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  copy->context = graph.context;
  copy->is_body = graph.is_body;
  copy->conditionals = graph.conditionals;
  for (const auto& node : graph.nodes) {
    copy->nodes.push_back(std::make_unique<GraphNode>(*node));
    auto* conditional = std::get_if<ConditionalWork>(&copy->nodes.back()->work);
    if (!conditional) continue;
    for (Graph*& body : conditional->bodies) {
      // clone() returns a shared graph, but the copy must own its bodies.
      const std::shared_ptr<Graph> cloned = clone(*body);
      copy->bodies.push_back(std::make_unique<Graph>(std::move(*cloned)));
      body = copy->bodies.back().get();
    }
  }
  return copy;
}

}  // namespace gart_sim
