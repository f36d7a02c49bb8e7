// The training step that an ONNX model contains (ModelProto.training_info).
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// The parts of a model with a training step. ONNX defines a step so: it runs the model's nodes and then those of
/// `algorithm`, which may read the values of the model. At the end of the step, all initializers that `update_binding`
/// names get their bound values at once.
class TrainingInfo {
 public:
  /// Moves nodes, initializers, inputs and outputs of the algorithm to the model's graph, and removes the training info
  /// from it. Returns nullopt and changes nothing if the model has no training info that updates anything. Throws
  /// CompileError for a binding that names no initializer or no output, or whose key is bound twice, and for a second
  /// training info.
  static std::optional<TrainingInfo> take(onnx::ModelProto& model);

  /// Splits the graph of the joined model, before inference, into two: `infer` is the model, and `train` is a step.
  /// Bound initializers become states of the program. A graph leaves out the states that it neither reads nor updates.
  std::vector<Graph> entries(const Graph& joined) const;

  /// The model's graph of initial values; null if it has none.
  const std::shared_ptr<onnx::ModelProto>& initialization() const { return initialization_; }
  /// Makes the entry point `initialize` of the imported graph. It sets the states that `initialization_binding` names.
  Graph initialize(Graph imported, const Graph& joined) const;

 private:
  void read_bindings(const onnx::ModelProto& model, const onnx::TrainingInfoProto& info);
  void join(onnx::GraphProto& graph, onnx::GraphProto& algorithm);
  Graph entry(const Graph& joined, const std::string& name, const std::vector<std::string>& outputs,
              const std::map<std::string, std::string>& updates) const;

  std::vector<std::string> keys_;                        // bound initializers, in the order of their first binding
  std::map<std::string, std::string> updates_, resets_;  // by key: a value
  std::vector<std::string> model_inputs_, model_outputs_, step_outputs_;
  std::shared_ptr<onnx::ModelProto> initialization_;
};

}  // namespace gcg
