// Attention by warpgroups (sm_90a): device/gart_attention_wide.cuh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// How a block of such a kernel is cut.
struct WideAttentionTile {
  int groups = 2, keys = 128;  // warpgroups of 64 queries; keys of a step
  bool takes_turns = true;     // warpgroups, with the tensor cores
  int splits = 1;              // of the keys, each a block of a cluster
  double clocks = 0;           // expected
  int queries() const { return 64 * groups; }
  int threads() const { return 128 * (groups + 1); }
};

/// The tiles that fit the kernel, best first; none where it has to be computed otherwise: of other GPUs or precisions,
/// of operands that the GPU does not copy as boxes.
std::vector<WideAttentionTile> wide_attention_tiles(const Kernel& kernel, const Target& target);
/// How many keys the kernel is cut for.
double typical_keys(const AttentionKernel& kernel);
std::string describe(const WideAttentionTile& tile);
int64_t wide_attention_shared_bytes(const AttentionKernel& kernel, const WideAttentionTile& tile);
KernelText emit_wide_attention(const Kernel& kernel, const Target& target, const WideAttentionTile& tile);

/// Operands as tensors whose lines are of one head; a box begins at `column`, `row` and the axes of the batch.
struct AttentionViews {
  Product::TmaView q, k, v;
};
std::optional<AttentionViews> attention_views(const Kernel& kernel);
/// The text for a kernel whose heads are apart (attention_scores.h). Heads are multiples of 8.
KernelText wide_attention_text(const Kernel& kernel, const Target& target, const WideAttentionTile& tile);

}  // namespace gcg::cuda
