// From an ONNX file to a Graph: parsing, model-local functions inlined, older opsets upgraded, types inferred.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/custom_op.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// A call of a function: its nodes are in the call's place, under names that begin with the calling node's and "/".
struct FunctionCall {
  std::string node;      // the name of the calling node, with those of the calls around it
  std::string function;  // "functions::Block"
};

/// What metadata_props of a node or a function say to this compiler: keys that begin with "gart.", as gart.device and
/// gart.group.
struct NodeLabel {
  std::string node;  // a node's name; with "/" at its end the beginning of the names of a call's nodes
  std::string key, value;
};

struct ImportedModel {
  Graph graph;
  /// By output: the strings that its elements are numbers of, or the names of its columns. Only of outputs that have
  /// such.
  std::map<std::string, std::vector<std::string>> labels;
  std::string source_hash;                      // XXH3-128 of the model file's bytes, 32 hex digits
  std::string producer;                         // "pytorch 2.9.0"; empty where the model does not say
  std::map<std::string, std::string> metadata;  // the model's metadata_props
  std::map<std::string, int64_t> opsets;        // the versions that the model imports, by domain ("" is ai.onnx)
  std::vector<std::string> sequences;           // inputs of the model that became one per element
  std::vector<FunctionCall> calls;              // as they stood, outer ones before those within
  std::vector<NodeLabel> node_labels;           // those of calls around before those within
};

/// Reads a model. Weights stay where they are: in the parsed file or in mapped external files, which may only lie
/// beneath the model's folder. Every value whose rank can be known is typed; `resolve_ranks` settles the others.
/// `lengths`: of inputs that are sequences, by name; others are ignored (sequence_inputs.h). `custom_ops`: operators
/// that the application computes (custom_op.h); they come before operators and functions of the same name. `libraries`:
/// files of functions that nodes may call as if the model held them; no two hold functions of one name. `outputs`:
/// values of the model's graph that become its outputs, with what they need and no more; none: it stays as it is.
/// Throws UnsupportedModel with all rows at once, or a CompileError of one sentence for a malformed model.
ImportedModel import_onnx(const std::string& path, const std::map<std::string, int64_t>& lengths = {},
                          const std::vector<CustomOp>& custom_ops = {}, const std::vector<std::string>& libraries = {},
                          const std::vector<std::string>& outputs = {});

/// The same from bytes in memory. `folder` is where external files may lie; empty: the model must have none.
ImportedModel import_onnx(std::span<const uint8_t> bytes, const std::string& folder = {},
                          const std::vector<std::string>& libraries = {}, const std::vector<std::string>& outputs = {});

}  // namespace gcg
