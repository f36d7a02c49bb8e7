// The attributes of Scan.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/error.h"

namespace gcg {

/// All attributes of a Scan node, with one entry per scan input or output. Axes are not yet normalised.
struct ScanParams {
  int states = 0, inputs = 0, outputs = 0;
  std::vector<int64_t> input_axes, output_axes;
  std::vector<int64_t> input_backward, output_backward;  // directions; 1: last element first

  explicit ScanParams(const Node& node) {
    inputs = static_cast<int>(node.int_attribute("num_scan_inputs", 0));
    states = static_cast<int>(node.inputs.size()) - node.captures - inputs;
    outputs = static_cast<int>(node.bodies[0]->outputs.size()) - states;
    if (inputs < 1 || states < 0 || outputs < 0)
      fail("Scan '", node.name, "': ", inputs, " scan inputs of ", static_cast<int>(node.inputs.size()) - node.captures,
           " inputs and ", node.bodies[0]->outputs.size(), " outputs of its body do not fit together");
    input_axes = list(node, "scan_input_axes", inputs);
    output_axes = list(node, "scan_output_axes", outputs);
    input_backward = list(node, "scan_input_directions", inputs);
    output_backward = list(node, "scan_output_directions", outputs);
  }

 private:
  static std::vector<int64_t> list(const Node& node, const std::string& key, int count) {
    std::vector<int64_t> values = node.ints_attribute(key);
    if (values.empty()) values.assign(static_cast<size_t>(count), 0);
    if (static_cast<int>(values.size()) != count)
      fail("Scan '", node.name, "': attribute ", key, " has ", values.size(), " entries; ", count, " are needed");
    return values;
  }
};

}  // namespace gcg
