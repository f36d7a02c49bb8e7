// Products that few tiles cover: the blocks of a cluster share the depth of a tile, and add their sums in shared memory
// (device/gart_cluster_sums.cuh). sm_90a.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// The best of such tiles, the one of least expected time first, `most` at most; none where the target or an operand
/// has no such form.
std::vector<ProductTile> cluster_tiles(const Kernel& kernel, const Target& target, const Product& product, size_t most);

KernelText emit_cluster_product(const Kernel& kernel, const Product& product, const ProductTile& tile,
                                const std::string& kind);

/// best_product_tiles and cluster_tiles, by expected time.
std::vector<ProductTile> candidate_tiles(const Kernel& kernel, const Target& target, const Product& product,
                                         size_t most);

}  // namespace gcg::cuda
