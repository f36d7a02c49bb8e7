// Attention by warpgroups (sm_90a); its device code is device/gart_attention_wide.cuh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// Tile of a block.
struct WideAttentionTile {
  int groups = 2, keys = 128;  // warpgroups of 64 queries; keys per step
  bool takes_turns = true;     // warpgroups take turns on the tensor cores
  int splits = 1;              // splits of the keys, one per block of a cluster
  double clocks = 0;           // expected
  int queries() const { return 64 * groups; }
  int threads() const { return 128 * (groups + 1); }
};

/// The tiles that fit the kernel, best first. Empty if the kernel needs another variant: other GPUs or precisions, or
/// operands that TMA cannot copy as boxes.
std::vector<WideAttentionTile> wide_attention_tiles(const Kernel& kernel, const Target& target);
/// The number of keys that the cost model assumes.
double typical_keys(const AttentionKernel& kernel);
std::string describe(const WideAttentionTile& tile);
int64_t wide_attention_shared_bytes(const AttentionKernel& kernel, const WideAttentionTile& tile);
KernelText emit_wide_attention(const Kernel& kernel, const Target& target, const WideAttentionTile& tile);

/// The operands as tensors whose lines belong to one head. `column`, `row` and the batch's axes give the start of a
/// box.
struct AttentionViews {
  Product::TmaView q, k, v;
};
std::optional<AttentionViews> attention_views(const Kernel& kernel);
/// The text for a kernel in which heads are separate axes (attention_scores.h). Head sizes must be multiples of 8.
KernelText wide_attention_text(const Kernel& kernel, const Target& target, const WideAttentionTile& tile);

}  // namespace gcg::cuda
