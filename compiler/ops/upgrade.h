// Helpers for upgrades from older opsets that replace a node by others.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op_def.h"

namespace gcg {

/// Makes the node compute op(inputs) as its first output.
inline void become(UpgradeContext& ctx, const char* name, std::vector<ValueId> inputs,
                   std::map<std::string, Attribute> attributes = {}) {
  ctx.node.op = &op(name);
  ctx.node.inputs = std::move(inputs);
  ctx.node.attributes = std::move(attributes);
  ctx.node.outputs.resize(1);
}

/// Gives `value` the id of the node's output `i`, if that output is used.
inline void give_output(UpgradeContext& ctx, size_t i, ValueId value) {
  if (i >= ctx.node.outputs.size() || !ctx.node.outputs[i].valid()) return;
  Node node;
  node.op = &op("Identity");
  node.name = ctx.node.name;
  node.inputs = {value};
  node.outputs = {ctx.node.outputs[i]};
  ctx.graph.add_node(std::move(node));
}

}  // namespace gcg
