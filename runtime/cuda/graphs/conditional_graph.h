// A plan with branches and loops as one executable graph. The target's conditional kernel sets the handles of
// conditional nodes on the device. A run is one launch, in which the host never waits.
#pragma once

#include <vector>

#include "runtime/cuda/graphs/graph.h"

namespace gart::cuda {

// The first driver whose conditional nodes are reliable enough for this code.
inline constexpr int kOldestConditionalDriver = 12040;

class ConditionalGraph {
 public:
  /// True if the plan has branches or loops, but no bind step, which only the host can run. A plan with loops must not
  /// have fail steps either, because a loop might run forever on values that were not computed.
  static bool can_hold(const Plan& plan);

  /// `conditional_kernel`: the function that kernel_abi.h describes.
  ConditionalGraph(Device& device, const Plan& plan, CUfunction conditional_kernel);

  /// True if the graph must be rebuilt because some address moved: nodes within a conditional cannot be changed.
  /// Therefore the caller's inputs and outputs of such a plan have fixed addresses on the device. States that change
  /// places from run to run cause a new graph. Launches must be over before update().
  bool must_go(const GraphContext& context) const { return graph_.exec != nullptr && !fits(context); }
  /// Builds the graph if it does not fit; otherwise updates only its copies. Throws Failure.
  void update(const GraphContext& context);
  void launch(CUstream stream) const;
  void rebind() { generation_ = 0; }

 private:
  bool fits(const GraphContext& context) const {
    return built_ && generation_ == context.generation && copies_.same(context, true, true) && stays(context);
  }
  /// True if the inputs and outputs, and so the states, have the addresses of the graph.
  bool stays(const GraphContext& context) const;
  void build(const GraphContext& context);
  /// Adds the sequence after `before`; returns its last nodes.
  Nodes add_sequence(CUgraph graph, uint32_t index, Nodes before, const GraphContext& context);
  Nodes add_branch(CUgraph graph, uint32_t step, Nodes before, const GraphContext& context);
  Nodes add_loop(CUgraph graph, uint32_t step, Nodes before, const GraphContext& context);
  /// Records in the step's status that it was reached.
  void* add_mark(CUgraph graph, uint32_t step, Nodes& before, const std::string& what);
  Nodes add_report(CUgraph graph, uint32_t step, Nodes before, const GraphContext& context);
  Nodes add_carries(CUgraph graph, const fb::Loop& loop, Nodes before, const std::string& what,
                    const GraphContext& context);
  struct Decision {
    const void *condition = nullptr, *trips = nullptr;
    void *iteration = nullptr, *counter = nullptr;
    CUgraphConditionalHandle yes = 0, no = 0;
    uint64_t flags = 0;
  };
  CUgraphNode add_decision(CUgraph graph, const Decision& decision, Nodes& before, const std::string& what);
  /// A conditional node, and the graph that it runs once, or repeatedly while its handle is set.
  struct Conditional {
    CUgraphNode node;
    CUgraph body;
  };
  Conditional add_conditional(CUgraph graph, CUgraphConditionalNodeType kind, CUgraphConditionalHandle handle,
                              Nodes before, const std::string& what);
  CUgraphConditionalHandle make_handle(CUgraph graph);
  /// The address of a value that a decision reads or writes; null for buffer -1.
  void* scalar(int32_t buffer, int64_t bytes, const GraphContext& context) const;

  Device& device_;
  const Plan& plan_;
  const CUfunction conditional_kernel_;
  bool built_ = false;
  uint64_t generation_ = 0;
  Block counters_;  // an i64 per step: iterations of a loop, status of a failure
  GraphNodes nodes_;
  CopyKinds copies_;
  std::vector<const void*> places_;  // addresses of plan_.io_buffers
  ExecutableGraph graph_;
};

}  // namespace gart::cuda
