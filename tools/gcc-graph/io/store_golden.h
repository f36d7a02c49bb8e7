// Adds golden vectors to an artifact.
#pragma once

#include <string>
#include <vector>

#include "gart_generated.h"

namespace gcg::tools {

/// The artifact with `cases` golden vectors: the seeds 1, 2, ... and the outputs of `reference`, which compiles the
/// same model for this machine's CPU. `dims`: "NAME=VALUE", for symbolic extents.
std::vector<uint8_t> with_golden(const std::vector<uint8_t>& artifact, const std::vector<uint8_t>& reference, int cases,
                                 const std::vector<std::string>& dims);

/// Removes the golden vectors, if there are any.
void remove_golden(gart::fb::ManifestT& manifest);

}  // namespace gcg::tools
