// Imports strings as numbers. A value of strings becomes i64 indices into a list of strings. Such values come from
// inputs of the model, from constants, and from classifiers and encoders of ai.onnx.ml. Operators that move elements
// pass the list on. All other readers of strings are refused. The lists of the model's inputs and outputs go into the
// artifact, because the runtime looks up the strings of inputs.
//
// If the model has inputs of strings, they, all constants and all encoders share one list, the dictionary. A string
// that is not in the dictionary has the index -1.
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
  /// The strings among which the runtime looks up the strings of inputs, in ascending order; empty if no input has
  /// strings.
  void set_dictionary(std::vector<std::string> strings);

  /// Null if the value holds no strings.
  LabelList of(const Graph& graph, ValueId value) const;
  /// True if the value may hold strings that are in no list, because it comes from an input.
  bool may_be_unknown(const Graph& graph, ValueId value) const;
  /// Records that the value is an input of strings.
  void add_input(const Graph& graph, ValueId value);
  /// Gives `other` the list of `value`, if `value` has one.
  void copy(const Graph& from, ValueId value, const Graph& to, ValueId other);
  /// A constant of strings as indices, and the list that they index.
  std::pair<TensorRef, LabelList> number(const onnx::TensorProto& proto) const;
  void set(const Graph& graph, ValueId value, LabelList list);

  /// The importer calls this function for each node. It gives the outputs their lists and may rewrite the node: a Cast
  /// of strings to strings becomes an Identity, and a LabelEncoder of strings a Gather from a constant that it adds.
  /// Returns an empty string, or the reason why a reader of strings is not supported.
  std::string carry(Graph& graph, Node& node);

 private:
  std::string read(Graph& graph, Node& node, const LabelList& first);
  std::string move(const Graph& graph, Node& node);
  std::string compare(const Graph& graph, const Node& node) const;
  LabelList number_values(Node& node) const;

  std::map<std::pair<const Graph*, ValueId>, LabelList> lists_;
  LabelList dictionary_, from_inputs_;  // equal lists; values that may be unknown have the second
};

}  // namespace gcg
