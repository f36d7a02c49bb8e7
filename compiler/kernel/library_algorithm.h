// A library's ways to do a call, as measurements name them.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernel/decisions.h"
#include "compiler/kernel/library_call.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// "130100: 4 0 7f", numbers in hexadecimal; nullopt for other texts.
std::string describe(const LibraryAlgorithm& algorithm);
std::optional<LibraryAlgorithm> parse_algorithm(const std::string& text);

/// What is to be decided about the call; the library knows the candidates, so there are none in it. nullopt where an
/// extent is open.
std::optional<Decision> decision_about(const LibraryCall& call, const Target& target);

/// What the target's decisions say; nullopt: nothing.
std::optional<LibraryAlgorithm> measured_algorithm(const LibraryCall& call, const Target& target);

}  // namespace gcg
