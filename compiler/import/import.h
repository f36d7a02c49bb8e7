// From an ONNX file to a Graph: parses it, inlines model-local functions, upgrades older opsets, infers types.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/custom_op.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// A call of a function. The function's nodes replace the call; their names begin with the calling node's name and "/".
struct FunctionCall {
  std::string node;      // the calling node's name, prefixed with the names of the enclosing calls
  std::string function;  // "functions::Block"
};

/// The metadata_props of a node or a function for this compiler: keys that begin with "gart.", such as gart.device and
/// gart.group.
struct NodeLabel {
  std::string node;  // a node's name; one that ends with "/" is the name prefix of a call's nodes
  std::string key, value;
};

struct ImportedModel {
  Graph graph;
  /// For each output that has them: the strings that its elements are indices of, or the names of its columns. For each
  /// input of strings: the strings that the model distinguishes, in ascending order.
  std::map<std::string, std::vector<std::string>> labels;
  std::string source_hash;                      // XXH3-128 of the model file's bytes, 32 hex digits
  std::string producer;                         // "pytorch 2.9.0"; empty if the model does not say
  std::map<std::string, std::string> metadata;  // the model's metadata_props
  std::map<std::string, int64_t> opsets;        // the versions that the model imports, by domain ("" is ai.onnx)
  /// Symbols of dimensions that share a name with other dimensions, but need not equal them. Maps each symbol to that
  /// name (separate_names.h).
  std::map<std::string, std::string> separated;
  // Names of the model's initializers: its weights, without results of Constant nodes.
  std::set<std::string> initializers;
  std::vector<std::string> sequences;  // sequence inputs of the model that became one input per element
  std::vector<FunctionCall> calls;     // in model order, outer calls before the calls inside them
  int64_t training_graphs = 0;         // TrainingInfoProtos of the model that are not imported
  /// The graphs of the imported training step: `train` and, if initial values are computed, `initialize`
  /// (training_info.h). The entry point `infer` is then `graph`.
  std::vector<Graph> training;
  std::vector<NodeLabel> node_labels;  // outer calls before the calls inside them
};

/// Reads a model. Weights are used in place: in the parsed file or in mapped external files, which must lie beneath the
/// model's folder. Every value whose rank can be known is typed; `resolve_ranks` settles the others.
/// `lengths`: the length of each sequence input, by name; other names are ignored (sequence_inputs.h).
/// `custom_ops`: operators that the application computes (custom_op.h). They take precedence over operators and
/// functions of the same name.
/// `libraries`: files of functions that nodes may call as if the model held them. No two may define the same name.
/// `outputs`: values of the model's graph that become its only outputs; all unneeded nodes are removed. An empty list
/// keeps the model's outputs.
/// `training`: import the training step, too, if the model has one.
/// Throws UnsupportedModel with all rows at once, or a CompileError of one sentence for a malformed model.
ImportedModel import_onnx(const std::string& path, const std::map<std::string, int64_t>& lengths = {},
                          const std::vector<CustomOp>& custom_ops = {}, const std::vector<std::string>& libraries = {},
                          const std::vector<std::string>& outputs = {}, bool training = false);

/// The same from bytes in memory. `folder` is where external files may lie; if empty, the model must have none.
ImportedModel import_onnx(std::span<const uint8_t> bytes, const std::string& folder = {},
                          const std::vector<std::string>& libraries = {}, const std::vector<std::string>& outputs = {});

}  // namespace gcg
