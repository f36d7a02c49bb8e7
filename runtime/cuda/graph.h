// The driver's executable graph for a run of steps that need nothing of the host between them, made node by node: one
// launch runs them all, with the copies of the caller's inputs before and of his outputs behind them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/cuda/device.h"

namespace gart::cuda {

/// Which part of a plan: steps [begin, end) of the sequence that begins at step `sequence`.
struct Segment {
  uint32_t sequence, begin, end;
  bool inputs, outputs;  // with the copies of inputs before, of outputs behind
};

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
};

class SegmentGraph {
 public:
  SegmentGraph(Device& device, const Plan& plan, const Segment& segment);
  ~SegmentGraph() { clear(); }
  SegmentGraph(const SegmentGraph&) = delete;
  SegmentGraph& operator=(const SegmentGraph&) = delete;

  /// It must be thrown away and built anew, because it needs other nodes: its launches must be over before update().
  bool must_go(const GraphContext& context);
  /// Makes the graph fit the context: built if it is new or needs other nodes, otherwise changed in place where addresses,
  /// extents or launch sizes are others. Throws Failure; the next call then builds it anew.
  void update(const GraphContext& context);
  /// Nothing if there is nothing to do.
  void launch(CUstream stream);
  /// Whatever it points to may have moved.
  void rebind() { generation_ = 0; }

 private:
  enum class Work : uint8_t { input, step, output };
  struct Node {
    Work work;
    uint32_t index;  // of the input, step or output
    CUgraphNode handle = nullptr;
    CUgraphNodeParams params = {};
    std::vector<uint64_t> values = {};  // of a kernel's parameters
    std::vector<void*> pointers = {};   // to them
  };
  using Nodes = std::vector<CUgraphNode>;

  void list_work(const GraphContext& context, std::vector<std::pair<Work, uint32_t>>& list) const;
  bool fits(const GraphContext& context);
  bool same_work(const GraphContext& context);
  bool same_copies(const GraphContext& context) const;
  void note_copies(const GraphContext& context);
  void build(const GraphContext& context);
  void instantiate(const GraphContext& context);
  void add_node(const Node& prepared, Nodes& dependencies);
  void clear();

  Node prepare(Work work, uint32_t index, const GraphContext& context) const;
  /// Brings the node's parameters up to date; true if they changed.
  bool refresh(Node& node, const GraphContext& context) const;
  bool refresh_kernel(Node& node, const GraphContext& context) const;
  bool refresh_copy(Node& node, const Transfer& transfer) const;
  bool refresh_fill(Node& node, const BoundStep& bound, uint8_t value) const;
  void collect_dependencies(uint32_t step, const std::vector<Nodes>& done, Nodes& out) const;

  Device& device_;
  const Plan& plan_;
  const Segment segment_;
  bool late_ = false;           // a step depends on a symbol that is bound during the run
  std::vector<uint8_t> moving_; // per step of the segment: it uses memory of the caller
  std::vector<uint32_t> previous_;  // per step of the segment: the one before it on its stream, or kNone
  static constexpr uint32_t kNone = UINT32_MAX;

  CUgraph graph_ = nullptr;  // keeps the names of the nodes valid
  CUgraphExec exec_ = nullptr;
  bool built_ = false;
  uint64_t generation_ = 0;
  std::vector<Node> nodes_;
  std::vector<CUgraphNode> input_copies_;  // per input; null: none
  std::vector<Transfer::Kind> copies_;     // per input, then per output
  std::vector<std::pair<Work, uint32_t>> wanted_;
};

/// "step 'Conv_1'", or "one of the steps 'Conv_1' to 'Gemm_9'", for messages.
std::string steps_text(const Plan& plan, uint32_t begin, uint32_t end);

}  // namespace gart::cuda
