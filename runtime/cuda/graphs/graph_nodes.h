// The nodes of driver graphs for parts of a plan: what a step or a copy becomes, and what it comes after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/cuda/driver/device.h"
#include "runtime/cuda/graphs/tensor_maps.h"

namespace gart::cuda {

class CallNode;
class Libraries;

/// What the nodes of a graph point to.
struct GraphContext {
  CUstream stream;  // where a new graph is uploaded
  const BoundPlan& bound;
  const Inputs& inputs;
  const Outputs& outputs;
  uint8_t* workspace;  // stream i's at i * workspace_stride
  int64_t workspace_stride;
  uint32_t* const* statuses;  // per step of the plan
  uint64_t generation;        // not 0; another one: arena or workspace moved
  Libraries& libraries;
};

using Nodes = std::vector<CUgraphNode>;

/// What a node does: copy input `index`, run step `index`, copy output `index`.
enum class NodeKind : uint8_t { input, step, output };

struct Node {
  NodeKind kind;
  uint32_t index;
  CUgraphNode handle = nullptr;
  CUgraphNodeParams params = {};
  std::vector<uint64_t> values = {};  // of a kernel's parameters
  std::vector<void*> pointers = {};   // to them, and to
  TensorMaps maps = {};
  std::shared_ptr<CallNode> call = {};  // of a call step; its child graph is in `params` only while the node is made
};

/// Everything here throws Failure, naming the step.
class GraphNodes {
 public:
  GraphNodes(Device& device, const Plan& plan) : device_(device), plan_(plan) {}

  std::vector<Node> list;
  void clear() { list.clear(); }

  /// Copies of the inputs that need one; nothing orders them. Later steps come after the copies of what they use,
  /// unless forget_inputs() was called.
  Nodes add_inputs(CUgraph graph, const GraphContext& context);
  void forget_inputs() { input_copies_.clear(); }
  /// The steps that have work, each after the one before it on its stream and those it waits for; those with nobody
  /// before them in the run after `before`. Returns the nodes that stand for the run's end. `written`, per output, gets
  /// the nodes that write it; may be null.
  Nodes add_steps(CUgraph graph, const Segment& run, const Nodes& before, const GraphContext& context,
                  std::vector<Nodes>* written = nullptr);
  /// Copies of the outputs that need one, each after written[i].
  void add_outputs(CUgraph graph, std::vector<Nodes>& written, const GraphContext& context);
  /// Adds a node whose parameters are complete. Removes doubles from `dependencies`. `overlaps`: both it and its only
  /// dependency are kernels, and it may start as soon as all blocks of that one have.
  CUgraphNode add(CUgraph graph, CUgraphNodeParams& params, Nodes& dependencies, const std::string& what,
                  bool overlaps = false);
  CUgraphNode add_copy(CUgraph graph, const Transfer& transfer, Nodes& dependencies, const std::string& what);

  /// Brings the node's parameters up to date; true if they changed.
  bool refresh(Node& node, const GraphContext& context) const;
  /// Tells the executable graph what refresh() changed. False: the driver does not take the change, as it may where a
  /// fill or a copy has another size, memory is of another kind, or a library does other work for a call; the graph has
  /// to be built anew.
  bool set_params(CUgraphExec exec, Node& node) const;
  /// Until the stream has done its work.
  void wait(CUstream stream) const;
  /// An executable of `graph`, uploaded. `what`: its steps.
  CUgraphExec instantiate(CUgraph graph, CUstream stream, const std::string& what) const;

 private:
  CUgraphNode add(CUgraph graph, NodeKind kind, uint32_t index, Nodes& dependencies, const GraphContext& context,
                  bool overlaps = false);
  Node prepare(NodeKind kind, uint32_t index, const GraphContext& context) const;
  void prepare_launch(Node& node, const PlanStep& step) const;
  bool refresh_kernel(Node& node, const GraphContext& context) const;
  void collect_dependencies(uint32_t step, const Segment& run, uint32_t previous, const std::vector<Nodes>& done,
                            Nodes& out) const;
  bool may_overlap(uint32_t step, uint32_t previous, const Segment& run, const GraphContext& context) const;
  void note_writes(const PlanStep& step, const Nodes& nodes, std::vector<Nodes>& written) const;
  std::string node_text(const Node& node) const;

  Device& device_;
  const Plan& plan_;
  Nodes input_copies_;  // per input; null: none
};

bool has_work(const PlanStep& step, const BoundStep& bound);

}  // namespace gart::cuda
