// What operators' upgrades from older opsets share: nodes that become others.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op_def.h"

namespace gcg {

/// The node computes op(inputs) on its first output.
inline void become(UpgradeContext& ctx, const char* name, std::vector<ValueId> inputs,
                   std::map<std::string, Attribute> attributes = {}) {
  ctx.node.op = &op(name);
  ctx.node.inputs = std::move(inputs);
  ctx.node.attributes = std::move(attributes);
  ctx.node.outputs.resize(1);
}

/// `value` under the id that the node's output `i` has, where somebody asked for it.
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
