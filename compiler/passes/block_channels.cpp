#include "compiler/passes/block_channels.h"

#include "compiler/passes/block_rules.h"
#include "compiler/passes/blocked_layout.h"

namespace gcg {
namespace {

/// Regions grow forward from convolutions: a node joins if its inputs are already blocked. Values that are computed
/// only from plain values stay plain until a convolution reads them.
bool block(Graph& graph, Graph& outermost, bool transforms_weights) {
  bool changed = false;
  BlockedLayout layout(graph, outermost, transforms_weights);
  for (NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) changed |= block(*body, outermost, transforms_weights);
    block_node(layout, id);
  }
  return layout.finish() || changed;
}

}  // namespace

bool block_channels(Graph& graph, const Target& target, bool keeps_weights) {
  const bool narrows_weights = target.precision == Precision::fp16 || target.precision == Precision::bf16;
  return block(graph, graph, !narrows_weights && !keeps_weights);
}

}  // namespace gcg
