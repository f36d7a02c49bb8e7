// From a Graph to an ONNX file, the way back of compiler/import: what importing or a builder made becomes a model that
// onnxruntime, or a compilation on another day, reads.
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
  /// Where the model would have more bytes, weights of 1 KiB and more go to a file beside it. Protobuf ends at 2 GiB.
  int64_t most_bytes = 2'000'000'000;
};

/// The bytes of a model that computes what the graph does: names, attributes, bodies and symbols (as dim_params) as
/// they are, constants that are read as initializers, the oldest opset from 21 on that has everything it needs.
/// Importing it gives the same graph.
///
/// Requires a graph in the operators of ONNX: as import_onnx or a builder made it, inputs typed, before any pass.
/// What were strings (ImportedModel::labels) is numbers.
///
/// Throws CompileError: for a node of a form that ONNX does not have, for an input or output without a type (of what
/// depends on sequences not all are known), and past most_bytes.
std::vector<uint8_t> export_onnx(const Graph& graph, const ExportOptions& options = {});

/// The same as a file; large models keep their weights in PATH.data beside it. A failure leaves nothing half-written.
void export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace gcg
