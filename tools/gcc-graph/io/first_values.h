// Makes a copy of an artifact with other first values for the states.
#pragma once

#include <string>

#include "gart/gart.hpp"

namespace gcg::tools {

class TrustOption;

/// Writes the artifact `from` to `to`. The first values in `to` are the current values of the states of `program`,
/// which was loaded from `from`. If `trust` has keys, one of them must have signed
/// `from`, which is read again here. After a failure, `to` is unchanged. Throws Error.
void write_with_states(const std::string& from, const TrustOption& trust, const gart::Program& program,
                       const std::string& to);

}  // namespace gcg::tools
