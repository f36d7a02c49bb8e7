// Helpers that build a Loop.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// A Loop under construction: its inputs, and those of its subgraph in the same order. Captures come last.
struct LoopWriter {
  Node node;

  LoopWriter(const std::string& name, std::vector<ValueId> inputs) {
    node.op = &op("Loop");
    node.name = name;
    node.inputs = std::move(inputs);
    node.bodies.push_back(std::make_unique<Graph>());
    node.bodies[0]->name = name;
  }
  ValueId body_input(const char* name) {
    Value v;
    v.name = name;
    node.bodies[0]->inputs.push_back(node.bodies[0]->add_value(std::move(v)));
    return node.bodies[0]->inputs.back();
  }
  ValueId capture(ValueId outer, const char* name) {
    if (!outer.valid()) return outer;
    node.inputs.push_back(outer);
    ++node.captures;
    return body_input(name);
  }
};

}  // namespace gcg
