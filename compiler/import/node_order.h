// The order in which the nodes of a graph are imported.
#pragma once

#include <onnx/onnx_pb.h>

#include <string_view>
#include <unordered_set>
#include <vector>

namespace gcg {

/// A topological order: every node comes after the producers of the values that it and its subgraphs read. An order
/// that is already topological is kept. ONNX requires one, but converters to float16 insert casts without keeping to
/// it. Nodes of a cycle come last.
std::vector<const onnx::NodeProto*> topological_order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

/// The names that the node reads, including those that its subgraphs read from the graphs around them.
std::unordered_set<std::string_view> reads_of(const onnx::NodeProto& node);

}  // namespace gcg
