// Runs the runtime's verifier on the compiler's own output.
#pragma once

#include <cstdint>
#include <span>

namespace gcg {

/// Throws InternalError if the runtime would refuse the artifact.
void verify_own(std::span<const uint8_t> artifact);

}  // namespace gcg
