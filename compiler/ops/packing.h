// The layouts that the packed and blocked operators (packing.cpp, blocking.cpp, blocked_conv.cpp, blocked_pool.cpp)
// agree on with the code generators. One packing of the weights serves all CPU targets.
#pragma once

#include <cstdint>

namespace gcg {

/// Columns of a panel of a packed matrix: [ceil(N/48)][K][48].
inline constexpr int64_t kPanelColumns = 48;
/// Channels of a block: activations are [N][ceil(C/16)][H][W][16].
inline constexpr int64_t kChannelBlock = 16;
/// Output channels of a block of dense convolution weights: [ceil(CO/32)][ceil(CI/16)][KH][KW][16][32].
inline constexpr int64_t kWeightBlock = 32;

inline int64_t blocks_of(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

}  // namespace gcg
