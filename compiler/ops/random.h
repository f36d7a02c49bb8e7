// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC11).
// Each element's bits are a function of a key and the element's number, so any device can compute them in any order.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gcg {

/// The four words of block `counter` under `key`, lowest word first.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A number that follows from the text: FNV-1a.
int64_t hash_of(const std::string& text);

}  // namespace gcg
