// Strings of a model as numbers. A value of strings is imported as i64 numbers of strings in a list that goes with it:
// classifiers and encoders of ai.onnx.ml make such values, and so are constants of strings. Operators that move
// elements hand the list on; what an output of the model carries goes into the artifact. Other readers of strings are
// refused.
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
  /// Null when the value is none of strings.
  LabelList of(const Graph& graph, ValueId value) const;
  void set(const Graph& graph, ValueId value, std::vector<std::string> labels);

  /// For each node as it is imported: gives its outputs their lists, and may write the node otherwise (a Cast of
  /// strings to strings is an Identity). Why it is not supported where it reads strings otherwise than by moving them;
  /// else empty.
  std::string carry(const Graph& graph, Node& node);

 private:
  std::string look_up(const std::vector<std::string>& labels, Node& node) const;

  std::map<std::pair<const Graph*, ValueId>, LabelList> lists_;
};

/// A constant of strings as numbers, and the strings.
std::pair<Tensor, std::vector<std::string>> numbered_strings(const onnx::TensorProto& proto);

}  // namespace gcg
