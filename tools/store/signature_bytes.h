// The signature that a store keeps with a version.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/store/store.h"

namespace gart::store {

/// The bytes of the artifact's signature; empty if it was added without one.
std::vector<uint8_t> signature_bytes(const StoredVersion& version);

}  // namespace gart::store
