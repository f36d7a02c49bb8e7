#include <algorithm>
#include <cstring>

#include "tests/cuda/sim/driver/graph.h"

using namespace gart_sim;

namespace {

// A graph handle: made by cuGraphCreate, or the body of a conditional in one.
Graph* find_body(const std::vector<std::unique_ptr<Graph>>& bodies, void* handle) {
  for (const auto& body : bodies) {
    if (body.get() == handle) return body.get();
    if (Graph* inner = find_body(body->bodies, handle)) return inner;
  }
  return nullptr;
}

Graph* find_graph(void* handle) {
  World& world = World::get();
  if (Graph* graph = world.graphs.find(handle)) return graph;
  for (const auto& [known, graph] : world.graphs.all()) {
    if (Graph* body = find_body(graph->bodies, handle)) return body;
  }
  return nullptr;
}

// True if an edge may connect nodes of these types. Sets whether it is programmatic.
int check_edge(const Call& call, const Graph& graph, const EdgeData& edge, int from, int to, bool& is_programmatic) {
  constexpr int kProgrammatic = 1, kTriggered = 1, kAllBlocksStarted = 2;
  is_programmatic = edge.type == kProgrammatic;
  for (const unsigned char byte : edge.reserved) {
    if (byte) return call.misuse("reserved bytes of an edge are not zero");
  }
  if (edge.to_port) return call.misuse("an edge to a port, of which no node has any");
  if (!is_programmatic) return edge.type || edge.from_port ? call.misuse("an edge of an unknown kind") : 0;
  if (World::get().sm < 90) return call.misuse("programmatic edges need sm_90", kNotSupported);
  if (graph.is_body) return call.misuse("programmatic edges within conditionals are not documented", kNotSupported);
  if (edge.from_port != kTriggered && edge.from_port != kAllBlocksStarted)
    return call.misuse("a programmatic edge from port " + std::to_string(edge.from_port));
  if (from != kKernelNode || to != kKernelNode) return call.misuse("a programmatic edge that is not between kernels");
  ++World::get().counts["programmatic_edges"];
  return 0;
}

// Fills in the edges to `node`, whose type is already set.
int read_dependencies(const Call& call, const Graph& graph, void* const* nodes, const EdgeData* edges, size_t count,
                      GraphNode& node) {
  if (count && !nodes) return call.misuse("no dependencies given");
  for (size_t i = 0; i < count; ++i) {
    const size_t index = graph.find(nodes[i]);
    if (index == graph.nodes.size()) return call.misuse("a dependency is no node of this graph");
    if (std::find(node.after.begin(), node.after.end(), index) != node.after.end() ||
        std::find(node.overlapped.begin(), node.overlapped.end(), index) != node.overlapped.end()) {
      return call.misuse("a dependency is given twice");
    }
    bool is_programmatic = false;
    if (edges) {
      const int code = check_edge(call, graph, edges[i], graph.nodes[index]->type, node.type, is_programmatic);
      if (code) return code;
    }
    World& world = World::get();
    if (++world.counts["graph_edges"] != world.dropped_edge)
      (is_programmatic ? node.overlapped : node.after).push_back(index);
  }
  return 0;
}

int add_node(const Call& call, void** out, void* graph_handle, void* const* dependencies, const EdgeData* edges,
             size_t count, NodeParams& params) {
  Graph* graph = find_graph(graph_handle);
  if (!graph) return call.misuse("the graph is not alive");
  if (!out) return call.misuse("no place for the node");
  auto node = std::make_unique<GraphNode>();
  node->type = params.type;
  if (const int code = read_dependencies(call, *graph, dependencies, edges, count, *node)) return code;
  std::string error;
  if (const int code = make_node(params, *graph, *node, error)) return call.misuse(error, code);
  *out = node.get();
  graph->nodes.push_back(std::move(node));
  ++World::get().counts["graph_nodes"];
  return 0;
}

// Copies the graph's nodes, including the bodies of conditionals.
std::unique_ptr<GraphExec> make_exec(const Graph& graph) {
  auto exec = std::make_unique<GraphExec>();
  const std::shared_ptr<Graph> copy = clone(graph);
  exec->context = graph.context;
  exec->graph = &graph;
  exec->conditionals = graph.conditionals;
  exec->bodies.push_back(copy);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    exec->handles.push_back(graph.nodes[i].get());
    exec->nodes.push_back(*copy->nodes[i]);
  }
  return exec;
}

// The body of a conditional, at any depth.
bool has_empty_body(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    const auto* conditional = std::get_if<ConditionalWork>(&node->work);
    return conditional && std::any_of(conditional->bodies.begin(), conditional->bodies.end(),
                                      [](const Graph* body) { return body->nodes.empty() || has_empty_body(*body); });
  });
}

int instantiate(const Call& call, void** out, void* graph_handle, uint64_t flags) {
  World& world = World::get();
  const Graph* graph = world.graphs.find(graph_handle);
  if (!graph) return call.misuse("the graph is not alive");
  if (!out) return call.misuse("no place for the executable");
  if (flags & ~uint64_t{15}) return call.misuse("unknown flags");
  // Drivers 12.4 to 12.7 hang when a graph with an empty body is launched, 12.8 does not: openxla/xla pull request
  // 25769.
  if (world.driver_version < 12080 && has_empty_body(*graph))
    return call.misuse("a conditional node with an empty body hangs drivers before 12.8");
  *out = world.execs.add(make_exec(*graph));
  ++world.counts["graph_instantiations"];
  return 0;
}

bool same_topology(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), [](const auto& x, const auto& y) {
    return x->type == y->type && x->after == y->after && x->overlapped == y->overlapped;
  });
}

// The runtime's programs may change a node's parameters, but not its type.
int set_params(const Call& call, void* exec_handle, void* node_handle, NodeParams& params) {
  World& world = World::get();
  GraphExec* exec = world.execs.find(exec_handle);
  if (!exec) return call.misuse("the executable is not alive");
  const auto at = std::find(exec->handles.begin(), exec->handles.end(), node_handle);
  if (at == exec->handles.end()) return call.misuse("no node of the graph that the executable was made of");
  GraphNode& node = exec->nodes[static_cast<size_t>(at - exec->handles.begin())];
  if (node.type != params.type) return call.misuse("the node is of another type");
  if (node.type == kConditionalNode) return call.misuse("conditional nodes cannot be updated");
  GraphNode fresh;
  std::string error;
  Graph scratch;
  scratch.context = exec->context;
  if (const int code = make_node(params, scratch, fresh, error)) return call.misuse(error, code);
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
    const Function* now = std::get<KernelWork>(fresh.work).function;
    if (kernel->function->module->context != now->module->context) return call.misuse("a function of another context");
  }
  if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
    const CopyWork& now = std::get<CopyWork>(fresh.work);
    if (copy->from_device != now.from_device || copy->to_device != now.to_device) {
      return call.misuse("a copy cannot change its kinds of memory");
    }
  }
  if (const auto* child = std::get_if<ChildWork>(&node.work)) {
    if (!same_topology(*child->graph, *std::get<ChildWork>(fresh.work).graph)) return kExecUpdateFailure;
  }
  node.work = std::move(fresh.work);
  ++world.counts["graph_updates"];
  return 0;
}

// Forbids reads of the host memory that the launch will write, unless device work reads it before.
void hide_targets(const GraphExec& exec) {
  const auto copies = [&exec](const auto& visit) {
    for (const GraphNode& node : exec.nodes) {
      if (const auto* copy = std::get_if<CopyWork>(&node.work)) visit(*copy);
    }
  };
  copies([&copies](const CopyWork& copy) {
    bool is_read = false;
    copies([&](const CopyWork& other) {
      is_read |= other.from < copy.to + copy.bytes && copy.to < other.from + other.bytes;
    });
    if (!is_read) copy.hide_target();
  });
}

// Turns the nodes into operations. They come after the stream and after the executable's last launch, in the order of
// the edges.
int launch(GraphExec& exec, Stream& stream) {
  World& world = World::get();
  OperationQueue& queue = stream.context->queue;
  if (queue.pending() == 0) hide_targets(exec);
  const std::string name = "graph launch " + std::to_string(world.counts["graph_launches"]) + ", ";
  const auto conditionals = exec.conditionals;
  const OperationQueue::Id begin = queue.add(name + "begin", {stream.last, exec.last}, [conditionals](Footprint&) {
    for (const auto& conditional : conditionals) {
      if (conditional.resets) conditional_value(conditional.handle) = conditional.value;
    }
    return 0;
  });
  std::vector<OperationQueue::Id> ids;
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    std::vector<OperationQueue::Id> after = {begin}, overlapped;
    for (const size_t before : exec.nodes[i].after) after.push_back(ids[before]);
    for (const size_t before : exec.nodes[i].overlapped) overlapped.push_back(ids[before]);
    const GraphNode node = exec.nodes[i];
    ids.push_back(
        queue.add(name + label_of(node, i), after, [node](Footprint& f) { return run_node(node, f); }, overlapped));
  }
  ids.push_back(begin);
  stream.last = exec.last = queue.add(name + "end", ids, nullptr);
  ++exec.launches;
  return 0;
}

NodeParams node_params(int type) {
  NodeParams params;
  memset(&params, 0, sizeof params);
  params.type = type;
  return params;
}

}  // namespace

GART_SIM_API cuGraphCreate(void** out, unsigned flags) {
  GART_SIM_CALL("cuGraphCreate");
  if (!out || flags) return call.misuse("no place for the graph, or flags");
  auto graph = std::make_unique<Graph>();
  graph->context = call.context_of();
  *out = world.graphs.add(std::move(graph));
  return 0;
}

GART_SIM_API cuGraphDestroy(void* handle) {
  GART_SIM_CALL("cuGraphDestroy");
  Graph* graph = world.graphs.find(handle);
  if (!graph) return call.misuse("the graph is not alive");
  world.graphs.remove(graph);
  return 0;
}

GART_SIM_API cuGraphAddNode_v2(void** out, void* graph, void* const* dependencies, const EdgeData* edges, size_t count,
                               NodeParams* params) {
  GART_SIM_CALL("cuGraphAddNode_v2");
  if (world.driver_version < 12030) return call.misuse("needs driver 12.3", kNotSupported);
  if (!params) return call.misuse("no parameters");
  return add_node(call, out, graph, dependencies, edges, count, *params);
}

GART_SIM_API cuGraphAddDependencies_v2(void* handle, void* const* from, void* const* to, const EdgeData* edges,
                                       size_t count) {
  GART_SIM_CALL("cuGraphAddDependencies_v2");
  Graph* graph = find_graph(handle);
  if (!graph) return call.misuse("the graph is not alive");
  for (size_t i = 0; i < count; ++i) {
    const size_t before = graph->find(from[i]), after = graph->find(to[i]);
    if (after == graph->nodes.size()) return call.misuse("a dependency is no node of this graph");
    if (before >= after) return call.misuse("edges to nodes made earlier are not simulated", kNotSupported);
    GraphNode& node = *graph->nodes[after];
    if (const int code = read_dependencies(call, *graph, from + i, edges ? edges + i : nullptr, 1, node)) return code;
  }
  return 0;
}

GART_SIM_API cuGraphAddKernelNode_v2(void** out, void* graph, void* const* dependencies, size_t count,
                                     const KernelParams* kernel) {
  GART_SIM_CALL("cuGraphAddKernelNode_v2");
  NodeParams params = node_params(kKernelNode);
  params.kernel = *kernel;
  return add_node(call, out, graph, dependencies, nullptr, count, params);
}

GART_SIM_API cuGraphAddMemcpyNode(void** out, void* graph, void* const* dependencies, size_t count, const Copy3D* copy,
                                  void* context) {
  GART_SIM_CALL("cuGraphAddMemcpyNode");
  NodeParams params = node_params(kCopyNode);
  params.copy.copy = *copy;
  params.copy.ctx = context;
  return add_node(call, out, graph, dependencies, nullptr, count, params);
}

GART_SIM_API cuGraphAddMemsetNode(void** out, void* graph, void* const* dependencies, size_t count,
                                  const void* memset_params, void* context) {
  GART_SIM_CALL("cuGraphAddMemsetNode");
  NodeParams params = node_params(kMemsetNode);
  memcpy(&params.memset, memset_params, offsetof(MemsetParams, ctx));
  params.memset.ctx = context;
  return add_node(call, out, graph, dependencies, nullptr, count, params);
}

GART_SIM_API cuGraphAddHostNode(void** out, void* graph, void* const* dependencies, size_t count,
                                const void* host_params) {
  GART_SIM_CALL("cuGraphAddHostNode");
  NodeParams params = node_params(kHostNode);
  memcpy(&params.host, host_params, 16);
  return add_node(call, out, graph, dependencies, nullptr, count, params);
}

GART_SIM_API cuGraphAddEmptyNode(void** out, void* graph, void* const* dependencies, size_t count) {
  GART_SIM_CALL("cuGraphAddEmptyNode");
  NodeParams params = node_params(kEmptyNode);
  return add_node(call, out, graph, dependencies, nullptr, count, params);
}

GART_SIM_API cuGraphAddChildGraphNode(void** out, void* graph, void* const* dependencies, size_t count, void* child) {
  GART_SIM_CALL("cuGraphAddChildGraphNode");
  NodeParams params = node_params(kGraphNode);
  params.child.graph = child;
  return add_node(call, out, graph, dependencies, nullptr, count, params);
}

GART_SIM_API cuGraphConditionalHandleCreate(unsigned long long* out, void* handle, void* context, unsigned value,
                                            unsigned flags) {
  GART_SIM_CALL("cuGraphConditionalHandleCreate");
  if (world.driver_version < 12030) return call.misuse("needs driver 12.3", kNotSupported);
  Graph* graph = find_graph(handle);
  if (!graph) return call.misuse("the graph is not alive");
  if (!out || context != graph->context || flags > 1) return call.misuse("a wrong context or flag");
  static unsigned long long next = 0x1000;
  *out = next++;
  graph->conditionals.push_back({*out, value, flags == 1});
  return 0;
}

GART_SIM_API cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long flags) {
  GART_SIM_CALL("cuGraphInstantiateWithFlags");
  return instantiate(call, out, graph, flags);
}

GART_SIM_API cuGraphInstantiateWithParams(void** out, void* graph, InstantiateParams* params) {
  GART_SIM_CALL("cuGraphInstantiateWithParams");
  if (!params) return call.misuse("no parameters");
  if ((params->flags & 2) && !call.stream(params->stream)) return call.misuse("the upload's stream is not alive");
  params->error_node = nullptr;
  params->result = 0;
  return instantiate(call, out, graph, params->flags);
}

GART_SIM_API cuGraphUpload(void* exec, void* stream) {
  GART_SIM_CALL("cuGraphUpload");
  if (!world.execs.find(exec) || !call.stream(stream)) return call.misuse("the executable or the stream is not alive");
  return 0;
}

GART_SIM_API cuGraphLaunch(void* exec_handle, void* stream_handle) {
  GART_SIM_CALL("cuGraphLaunch");
  GraphExec* exec = world.execs.find(exec_handle);
  Stream* stream = call.stream(stream_handle);
  if (!exec) return call.misuse("the executable is not alive", kInvalidHandle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  // A real driver delays such a launch until the previous one ends (CUDA Driver API, cuGraphLaunch: one instance
  // executes at a time). The simulation reports it, because it shows that two callers share one executable.
  if (!world.allows_exec_overlap && !stream->context->queue.is_after(stream->last, exec->last)) {
    report(Finding::exec_overlap,
           "a graph is launched on a stream that nothing orders after its last launch, which runs");
    world.lose(stream->context, kLaunchFailed);
    return kLaunchFailed;
  }
  ++world.counts["graph_launches"];
  return launch(*exec, *stream);
}

GART_SIM_API cuGraphExecDestroy(void* handle) {
  GART_SIM_CALL("cuGraphExecDestroy");
  GraphExec* exec = world.execs.find(handle);
  if (!exec) return call.misuse("the executable is not alive");
  if (!exec->context->queue.is_done(exec->last)) return call.misuse("the executable is destroyed while it runs");
  world.execs.remove(exec);
  return 0;
}

GART_SIM_API cuGraphExecNodeSetParams(void* exec, void* node, NodeParams* params) {
  GART_SIM_CALL("cuGraphExecNodeSetParams");
  if (!params) return call.misuse("no parameters");
  return set_params(call, exec, node, *params);
}

GART_SIM_API cuGraphExecKernelNodeSetParams_v2(void* exec, void* node, const KernelParams* kernel) {
  GART_SIM_CALL("cuGraphExecKernelNodeSetParams_v2");
  NodeParams params = node_params(kKernelNode);
  params.kernel = *kernel;
  return set_params(call, exec, node, params);
}

GART_SIM_API cuGraphExecMemcpyNodeSetParams(void* exec, void* node, const Copy3D* copy, void* context) {
  GART_SIM_CALL("cuGraphExecMemcpyNodeSetParams");
  NodeParams params = node_params(kCopyNode);
  params.copy.copy = *copy;
  params.copy.ctx = context;
  return set_params(call, exec, node, params);
}

GART_SIM_API cuGraphExecMemsetNodeSetParams(void* exec, void* node, const void* memset_params, void* context) {
  GART_SIM_CALL("cuGraphExecMemsetNodeSetParams");
  NodeParams params = node_params(kMemsetNode);
  memcpy(&params.memset, memset_params, offsetof(MemsetParams, ctx));
  params.memset.ctx = context;
  return set_params(call, exec, node, params);
}
