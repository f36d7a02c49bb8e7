// The driver's executable graph for a run of steps that need nothing of the host between them, made node by node: one
// launch runs them all, with the copies of the caller's inputs before and of his outputs after them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/graphs/graph_nodes.h"

namespace gart::cuda {

/// A graph and its executable. What ran of it must be over when it ends.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(Device& device) : device_(device) {}
  ~ExecutableGraph() { clear(); }
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  /// Throws away what there is and begins an empty one. Throws Failure.
  CUgraph begin();
  void clear();
  /// Nothing if there is nothing to do. `plan` [begin, end): its steps, for messages.
  void launch(CUstream stream, const Plan& plan, uint32_t begin, uint32_t end) const;
  CUgraphExec exec = nullptr;

 private:
  Device& device_;
  CUgraph graph_ = nullptr;  // keeps the names of the nodes valid
};

/// Which copies a graph holds: the kinds of the transfers, inputs first.
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

  /// It must be thrown away and built anew, because it needs other nodes: its launches must be over before update().
  bool must_go(const GraphContext& context);
  /// Makes the graph fit the context: built if it is new or needs other nodes, otherwise changed in place where
  /// addresses, extents or launch sizes are others. Throws Failure; the next call then builds it anew.
  void update(const GraphContext& context);
  void launch(CUstream stream) const { graph_.launch(stream, plan_, segment_.begin, segment_.end); }
  /// Whatever it points to may have moved.
  void rebind() { generation_ = 0; }

 private:
  bool fits(const GraphContext& context);
  bool same_work(const GraphContext& context) const;
  void build(const GraphContext& context);

  const Plan& plan_;
  const Segment segment_;
  bool late_ = false;            // a step depends on a symbol that is bound during the run
  std::vector<uint8_t> moving_;  // per step of the segment: it uses memory of the caller
  bool built_ = false;
  uint64_t generation_ = 0;
  GraphNodes nodes_;
  CopyKinds copies_;
  ExecutableGraph graph_;
};

}  // namespace gart::cuda
