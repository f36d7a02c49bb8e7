// The driver's executable graph for a run of steps that need no action of the host between them, built node by node.
// One launch runs them all, with copies of the caller's inputs before them and of the outputs after them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/graphs/graph_nodes.h"

namespace gart::cuda {

/// A graph and its executable. Its launches must be over before its destructor runs.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(Device& device) : device_(device) {}
  ~ExecutableGraph() { clear(); }
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  /// Discards the current graph and begins an empty one. Throws Failure.
  CUgraph begin();
  void clear();
  /// Does nothing if the graph is empty. `plan` [begin, end): its steps, for messages.
  void launch(CUstream stream, const Plan& plan, uint32_t begin, uint32_t end) const;
  CUgraphExec exec = nullptr;

 private:
  Device& device_;
  CUgraph graph_ = nullptr;  // keeps the names of the nodes valid
};

/// The kinds of the copies that a graph holds, inputs first.
class CopyKinds {
 public:
  void note(const GraphContext& context, bool inputs, bool outputs);
  bool same(const GraphContext& context, bool inputs, bool outputs) const;

 private:
  std::vector<Transfer::Kind> kinds_;
};

class SegmentGraph {
 public:
  SegmentGraph(Device& device, const Plan& plan, const Segment& segment);

  /// True if the graph must be rebuilt because it needs other nodes. Its launches must be over before update().
  bool must_go(const GraphContext& context);
  /// Makes the graph fit the context. Builds it if it is new or needs other nodes; otherwise updates addresses, extents
  /// and launch sizes in place. Throws Failure; the next call then rebuilds it.
  void update(const GraphContext& context);
  void launch(CUstream stream) const { graph_.launch(stream, plan_, segment_.begin, segment_.end); }
  /// Must be called if addresses that the graph contains may have changed.
  void rebind() { generation_ = 0; }

 private:
  bool fits(const GraphContext& context);
  bool same_work(const GraphContext& context) const;
  void build(const GraphContext& context);

  const Plan& plan_;
  const Segment segment_;
  bool run_bound_ = false;       // True if a step depends on a symbol that is bound during the run
  std::vector<uint8_t> moving_;  // per step of the segment: True if it uses memory of the caller
  bool built_ = false;
  uint64_t generation_ = 0;
  GraphNodes nodes_;
  CopyKinds copies_;
  ExecutableGraph graph_;
};

}  // namespace gart::cuda
