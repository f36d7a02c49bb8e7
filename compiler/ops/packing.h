// The layouts that the packed and blocked operators (packing.cpp, blocking.cpp, blocked_conv.cpp, blocked_pool.cpp)
// agree on with the code generators. One packing of the weights serves all CPU targets.
#pragma once

#include <cstdint>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"

namespace gcg {

/// Columns of a panel of a packed matrix: [ceil(N/48)][K][48].
inline constexpr int64_t kPanelColumns = 48;
/// 8-bit integers along the inner extent that lie side by side in packed operands: [ceil(N/48)][K/4][48][4].
inline constexpr int64_t kQuad = 4;
/// Channels of a block: activations are [N][ceil(C/16)][H][W][16].
inline constexpr int64_t kChannelBlock = 16;
/// Output channels of a block of dense convolution weights: [ceil(CO/32)][ceil(CI/16)][KH][KW][16][32].
inline constexpr int64_t kWeightBlock = 32;

/// What a packed contraction sums in whose right operand has this type: u8 by i8 gives i32.
inline DType sum_type(DType right) { return right == DType::i8 ? DType::i32 : right; }

inline int64_t blocks_of(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

/// How the weights of a convolution are packed (PackConv in packing.cpp).
struct ConvPacking {
  bool depthwise = false, plain = false, quads = false;

  Shape shape(const Dim& outputs, const Dim& inputs, const Dim& kh, const Dim& kw) const;
  /// Element (output channel, input channel, tap); `inputs` and `taps` are how many there are.
  int64_t place(int64_t co, int64_t ci, int64_t tap, int64_t inputs, int64_t taps) const;
};

}  // namespace gcg
