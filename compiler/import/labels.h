// Imports strings as numbers. A value of strings becomes i64 indices into a list of strings. Such values come from
// classifiers and encoders of ai.onnx.ml and from constants of strings. Operators that move elements pass the list on.
// The lists of the model's outputs go into the artifact. All other readers of strings are refused.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

using LabelList = std::shared_ptr<const std::vector<std::string>>;

class Labels {
 public:
  /// Null if the value holds no strings.
  LabelList of(const Graph& graph, ValueId value) const;
  void set(const Graph& graph, ValueId value, std::vector<std::string> labels);

  /// Call it for each node as it is imported. It gives the outputs their lists and may rewrite the node (a Cast of
  /// strings to strings becomes an Identity). Returns an empty string, or the reason why a reader of strings is not
  /// supported.
  std::string carry(const Graph& graph, Node& node);

 private:
  std::string look_up(const std::vector<std::string>& labels, Node& node) const;

  std::map<std::pair<const Graph*, ValueId>, LabelList> lists_;
};

/// A constant of strings as indices, and the list of strings.
std::pair<Tensor, std::vector<std::string>> numbered_strings(const onnx::TensorProto& proto);

}  // namespace gcg
