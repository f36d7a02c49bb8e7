// The nodes of driver graphs for parts of a plan: how steps and copies become nodes, and their dependencies.
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

/// The memory that the nodes of a graph point to.
struct GraphContext {
  CUstream stream;  // the stream on which a new graph is uploaded
  const BoundPlan& bound;
  const Inputs& inputs;
  const Outputs& outputs;
  uint8_t* workspace;  // the workspace of stream i begins at i * workspace_stride
  int64_t workspace_stride;
  uint32_t* const* statuses;  // per step of the plan
  uint64_t generation;        // not 0; changes when the arena or the workspace has moved
  Libraries& libraries;
};

using Nodes = std::vector<CUgraphNode>;

/// The work of a node: copy input `index`, run step `index`, copy output `index`.
enum class NodeKind : uint8_t { input, step, output };

struct Node {
  NodeKind kind;
  uint32_t index;
  CUgraphNode handle = nullptr;
  CUgraphNodeParams params = {};
  std::vector<uint64_t> values = {};  // values of a kernel's parameters
  std::vector<void*> pointers = {};   // pointers to `values` and to `maps`
  TensorMaps maps = {};
  std::shared_ptr<CallNode> call = {};  // set for a call step; `params` holds its child graph only while the node is
                                        // made
};

/// All functions throw Failure, naming the step.
class GraphNodes {
 public:
  GraphNodes(Device& device, const Plan& plan) : device_(device), plan_(plan) {}

  std::vector<Node> list;
  void clear() { list.clear(); }

  /// Adds copies of the inputs that need one, without edges between the copies. Later steps come after the copies of
  /// the inputs they use, unless forget_inputs() was called.
  Nodes add_inputs(CUgraph graph, const GraphContext& context);
  void forget_inputs() { input_copies_.clear(); }
  /// Adds the steps that have work. Each comes after the previous one on its stream and after the steps that it waits
  /// for. Steps without a predecessor in the run come after `before`. Returns the last nodes of the run. `written`
  /// receives, per output, the nodes that write it; may be null.
  Nodes add_steps(CUgraph graph, const Segment& run, const Nodes& before, const GraphContext& context,
                  std::vector<Nodes>* written = nullptr);
  /// Adds copies of the outputs that need one, each after written[i].
  void add_outputs(CUgraph graph, std::vector<Nodes>& written, const GraphContext& context);
  /// Adds a node whose parameters are complete. Removes duplicates from `dependencies`. `overlaps`: the node and its
  /// only dependency are kernels, and the node may start as soon as all blocks of that kernel have started.
  CUgraphNode add(CUgraph graph, CUgraphNodeParams& params, Nodes& dependencies, const std::string& what,
                  bool overlaps = false);
  CUgraphNode add_copy(CUgraph graph, const Transfer& transfer, Nodes& dependencies, const std::string& what);

  /// Brings the node's parameters up to date; true if they changed.
  bool refresh(Node& node, const GraphContext& context) const;
  /// Applies the changes of refresh() to the executable graph. Returns false if the driver rejects the change; the
  /// graph must be rebuilt then. Reasons are another size of a fill or copy, another kind of memory, or other work of a
  /// library for a call.
  bool set_params(CUgraphExec exec, Node& node) const;
  /// Waits until the stream has finished its work.
  void wait(CUstream stream) const;
  /// Makes and uploads an executable of `graph`. `what`: its steps.
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
  Nodes input_copies_;  // per input; null: the input is not copied
};

bool has_work(const PlanStep& step, const BoundStep& bound);

}  // namespace gart::cuda
