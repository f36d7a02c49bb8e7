// The facts about an artifact that the store keeps beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact_schema/reader.h"

namespace gart::store {

/// An entry point, and the kind of work that it does.
struct Operation {
  std::string entry;
  std::string kind;  // "training": it writes states of the program; "sequence": it has states of a session; "inference"
};

/// A group of nodes that a fleet's device runs.
struct DeployedGroup {
  std::string name, device;
  std::vector<std::string> support;  // the devices that can run it
};

struct ArtifactFacts {
  std::vector<Operation> operations;
  std::vector<DeployedGroup> groups;  // empty unless the artifact was compiled for a fleet
};

/// Verifies the artifact and reads its facts. An error's sentence begins with `name`.
ArtifactFacts verified_facts(std::span<const uint8_t> bytes, const std::string& name);

/// Refuses the artifact unless rows along the first axis may be joined: the first extent of all inputs and outputs of
/// the first entry point is the same symbol, and the entry point has no states.
void check_joins_rows(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace gart::store
