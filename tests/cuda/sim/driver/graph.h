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
  std::vector<Graph*> bodies;  // Owned by the graph that holds the node.
};

struct ChildWork {
  std::shared_ptr<Graph> graph;  // A clone.
};

using NodeWork =
    std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork, ChildWork, ConditionalWork, LibraryWork>;

struct GraphNode {
  int type = kEmptyNode;
  NodeWork work;
  std::vector<size_t> after;       // Indices in the graph, lower than its own.
  std::vector<size_t> overlapped;  // The same, of kernels while which it may start (programmatic edges).
};

struct Graph {
  Context* context = nullptr;
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::unique_ptr<Graph>> bodies;
  bool is_body = false;
  // Conditional handles made on this graph: default values, and whether each launch begins with them.
  struct Conditional {
    unsigned long long handle;
    unsigned value;
    bool resets;
  };
  std::vector<Conditional> conditionals;

  [[nodiscard]] size_t find(const void* node) const;  // nodes.size(): not in it.
};

struct GraphExec {
  Context* context = nullptr;
  const Graph* graph = nullptr;           // Which graph it was made of: nodes are named by that graph's handles.
  std::vector<const GraphNode*> handles;  // Of graph's nodes.
  std::vector<GraphNode> nodes;           // Copies, with the parameters of this executable.
  std::vector<std::shared_ptr<Graph>> bodies;
  std::vector<Graph::Conditional> conditionals;
  OperationQueue::Id last = 0;  // The end of its last launch.
  uint64_t launches = 0;
};

// Fills in a node's work. `graph` owns what it makes (bodies of conditionals).
int make_node(NodeParams& params, Graph& graph, GraphNode& out, std::string& error);
// A deep copy that does not change with the original.
std::shared_ptr<Graph> clone(const Graph& graph);
// The value of a conditional handle, while a launch runs.
unsigned& conditional_value(unsigned long long handle);
std::string label_of(const GraphNode& node, size_t index);
// Runs a node; `where` names the enclosing graph in labels.
int run_node(const GraphNode& node, Footprint& footprint);

bool& is_in_host_function();

}  // namespace gart_sim
#endif
