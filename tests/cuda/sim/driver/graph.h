// Graphs, their nodes, and executable graphs.
#ifndef GART_TESTS_CUDA_SIM_DRIVER_GRAPH_H
#define GART_TESTS_CUDA_SIM_DRIVER_GRAPH_H

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/cuda/sim/driver/work.h"

namespace gart_sim {

struct Graph;

struct HostWork {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  [[nodiscard]] int run() const;
};

struct ConditionalWork {
  unsigned long long handle = 0;
  int type = kIf;
  std::vector<Graph*> bodies;  // owned by the graph that holds the node
};

struct ChildWork {
  std::shared_ptr<Graph> graph;  // a clone
};

using NodeWork =
    std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork, ChildWork, ConditionalWork, LibraryWork>;

struct GraphNode {
  int type = kEmptyNode;
  NodeWork work;
  std::vector<size_t> after;       // lower indices in the same graph
  std::vector<size_t> overlapped;  // the same for programmatic edges: this kernel may start while these kernels run
};

struct Graph {
  Context* context = nullptr;
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::unique_ptr<Graph>> bodies;
  bool is_body = false;
  // Conditional handles made on this graph: default values, and whether each launch starts with them.
  struct Conditional {
    unsigned long long handle;
    unsigned value;
    bool resets;
  };
  std::vector<Conditional> conditionals;

  [[nodiscard]] size_t find(const void* node) const;  // nodes.size(): not in this graph
};

struct GraphExec {
  Context* context = nullptr;
  const Graph* graph = nullptr;           // the graph from which it was made
  std::vector<const GraphNode*> handles;  // the nodes of `graph`, which are the handles of `nodes`
  std::vector<GraphNode> nodes;           // copies of the nodes, with the parameters of this executable
  std::vector<std::shared_ptr<Graph>> bodies;
  std::vector<Graph::Conditional> conditionals;
  OperationQueue::Id last = 0;  // the end of its last launch
  uint64_t launches = 0;
};

// Fills in a node's work. `graph` owns the bodies of conditionals that this makes.
int make_node(NodeParams& params, Graph& graph, GraphNode& out, std::string& error);
// A deep copy; later changes of the original do not affect it.
std::shared_ptr<Graph> clone(const Graph& graph);
// The value of a conditional handle during a launch.
unsigned& conditional_value(unsigned long long handle);
std::string label_of(const GraphNode& node, size_t index);
// Runs a node; `where` names the enclosing graph in labels.
int run_node(const GraphNode& node, Footprint& footprint);

bool& is_in_host_function();

}  // namespace gart_sim
#endif
