// An artifact whose states begin with other values.
#pragma once

#include <string>

#include "gart/gart.hpp"

namespace gcg::tools {

/// Writes the artifact `from` to `to` with the values that the states of `program`, which was loaded from it, have now
/// as their first values. `to` is as it was after a failure. Throws Error.
void write_with_states(const std::string& from, const gart::Program& program, const std::string& to);

}  // namespace gcg::tools
