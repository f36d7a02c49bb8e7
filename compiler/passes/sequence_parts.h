// The knowledge of take_sequences_apart about a sequence, and the tensors that operators make of it.
#pragma once

#include <optional>
#include <string>

#include "compiler/ops/node_builder.h"
#include "compiler/passes/sequence_part.h"

namespace gcg {

/// The value of a one-element integer tensor, if the compiler knows it.
std::optional<int64_t> known_number(const Graph& graph, ValueId v);

/// Nullopt if the node cannot be taken apart (yet); then `why` names the obstacle.
std::optional<SequenceParts> split_parts(Graph& graph, const Node& node, std::string& why);
std::optional<SequenceParts> inserted(Graph& graph, const Node& node, SequenceParts sequence, std::string& why);
std::optional<SequenceParts> erased(Graph& graph, const Node& node, SequenceParts sequence, std::string& why);
std::optional<ValueId> element_at(Graph& graph, const Node& node, const SequenceParts& sequence, std::string& why);
std::optional<ValueId> concatenated(Graph& graph, const Node& node, const SequenceParts& sequence, std::string& why);
ValueId length_of(NodeBuilder& b, const SequenceParts& sequence);

}  // namespace gcg
