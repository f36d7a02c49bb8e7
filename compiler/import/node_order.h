// The order in which the nodes of a graph are imported.
#pragma once

#include <onnx/onnx_pb.h>

#include <string_view>
#include <unordered_set>
#include <vector>

namespace gcg {

/// The nodes with every reader, and every body that reads, after what it reads; as they stand where that already is
/// so. ONNX asks for that order, but converters to float16 insert casts without keeping to it. Nodes of a cycle come
/// last.
std::vector<const onnx::NodeProto*> topological_order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

/// The names that the node reads, those that its bodies read of the graphs around them too.
std::unordered_set<std::string_view> reads_of(const onnx::NodeProto& node);

}  // namespace gcg
