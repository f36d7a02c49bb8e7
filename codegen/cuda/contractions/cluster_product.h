// Products with few tiles (sm_90a). The blocks of a cluster share the depth of a tile and add their sums in shared
// memory (device/gart_cluster_sums.cuh).
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// The best cluster tiles, least expected time first, at most `most`. Empty if the target or an operand does not
/// support them.
std::vector<ProductTile> cluster_tiles(const Kernel& kernel, const Target& target, const Product& product, size_t most);

KernelText emit_cluster_product(const Kernel& kernel, const Product& product, const ProductTile& tile,
                                const std::string& kind);

/// The tiles of best_product_tiles and cluster_tiles, by expected time.
std::vector<ProductTile> candidate_tiles(const Kernel& kernel, const Target& target, const Product& product,
                                         size_t most);

}  // namespace gcg::cuda
