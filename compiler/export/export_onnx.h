// Writes a Graph as an ONNX file, the inverse of compiler/import. An imported or built graph becomes a model that
// onnxruntime, or a later compilation, can read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct ExportOptions {
  std::string producer = "gcc-graph";
  std::map<std::string, std::string> metadata = {};  // the model's metadata_props
  /// A model with more bytes keeps its weights of 1 KiB and more in a file beside it. Protobuf's limit is 2 GiB.
  int64_t most_bytes = 2'000'000'000;
};

/// The bytes of an ONNX model that computes the same results as the graph. Names, attributes, subgraphs and symbols (as
/// dim_params) are kept. Constants that something reads become initializers. The model uses the oldest opset, from 21
/// on, that has everything it needs. Importing it gives the same graph.
///
/// Requires a graph of ONNX operators: as import_onnx or a builder made it, with typed inputs, before any pass. Strings
/// (ImportedModel::labels) are exported as numbers.
///
/// Throws CompileError for a node that has no ONNX form, for an input or output without a type, and past most_bytes.
/// Some values that depend on sequences have no known type.
std::vector<uint8_t> export_onnx(const Graph& graph, const ExportOptions& options = {});

/// Writes the same model to a file; large models keep their weights in PATH.data beside it. A failure leaves no partial
/// file.
void export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace gcg
