// Library algorithms as texts, for decisions from measurements.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernel/decisions.h"
#include "compiler/kernel/library_call.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// "130100: 4 0 7f": the version, then the configuration in hexadecimal. parse_algorithm returns nullopt for other
/// texts.
std::string describe(const LibraryAlgorithm& algorithm);
std::optional<LibraryAlgorithm> parse_algorithm(const std::string& text);

/// The decision about the call, without candidates, because only the library knows them. nullopt if an extent is
/// symbolic.
std::optional<Decision> decision_about(const LibraryCall& call, const Target& target);

/// The algorithm that the target's decisions give; nullopt: none.
std::optional<LibraryAlgorithm> measured_algorithm(const LibraryCall& call, const Target& target);

}  // namespace gcg
