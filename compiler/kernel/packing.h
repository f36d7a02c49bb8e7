// The layouts that the packed and blocked operators (packing.cpp, blocking.cpp, blocked_conv.cpp, blocked_pool.cpp)
// agree on with the code generators. One packing of the weights serves all CPU targets.
#pragma once

#include <cstdint>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/tensor.h"

namespace gcg {

/// Columns of a panel of a packed matrix: [ceil(N/48)][K][48].
inline constexpr int64_t kPanelColumns = 48;
/// 8-bit integers along the inner extent that lie side by side in packed operands: [ceil(N/48)][K/4][48][4].
inline constexpr int64_t kQuad = 4;
/// Channels of a block: activations are [N][ceil(C/16)][spatial...][16].
inline constexpr int64_t kChannelBlock = 16;

/// What a packed contraction sums in whose right operand has this type: u8 by i8 gives i32.
inline DType sum_type(DType right) { return right == DType::i8 ? DType::i32 : right; }

inline int64_t blocks_of(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

/// Convolution weights w[CO, CI/groups, kernel...] as kernels stream them:
///   [ceil(CO/columns)][ceil(inputs/unit)][kernel...][unit][columns], zero-padded; bytes in quads:
///   ...[unit/4][columns][4]
/// A panel of columns is what one or two register tiles compute; a unit of input channels lies side by side in the
/// input.
struct ConvPacking {
  int64_t inputs = 0;  // channels of one group
  int64_t outputs = 0, groups = 1;
  bool plain = false;  // the convolution reads [N, C, spatial...]; of one group
  bool bytes = false;  // u8 by i8, not plain

  int64_t group_outputs() const { return outputs / groups; }
  /// Groups that are not whole blocks: each lane of a result multiplies channels of its own group. So is depthwise.
  bool by_lane() const { return groups > 1 && (inputs % kChannelBlock != 0 || group_outputs() % kChannelBlock != 0); }
  /// Four neighbouring channels are multiplied at once; lanes of their own have no neighbours.
  int64_t quad() const { return bytes && !by_lane() ? kQuad : 1; }
  int64_t unit() const { return plain ? 1 : by_lane() ? inputs : kChannelBlock; }
  int64_t columns() const {
    const bool pairs = groups == 1 || (!by_lane() && group_outputs() % (2 * kChannelBlock) == 0);
    return pairs ? 2 * kChannelBlock : kChannelBlock;
  }
  int64_t panels() const { return blocks_of(outputs, columns()); }
  int64_t units() const { return blocks_of(inputs, unit()); }
  /// Elements of one panel of a kernel of `taps` elements.
  int64_t panel_elements(int64_t taps) const { return units() * taps * unit() * columns(); }
  Shape shape(const Shape& kernel) const;
  /// Place of the weight of output channel `co` and channel `ci` of its group at the kernel's element `tap`.
  int64_t place(int64_t co, int64_t ci, int64_t tap, int64_t taps) const {
    const int64_t row = (co / columns() * units() + ci / unit()) * taps + tap;
    const int64_t first = ci % unit() / quad() * quad();
    return (row * unit() + first) * columns() + co % columns() * quad() + ci % quad();
  }
};

/// A matrix of integers of few bits with a scale, and perhaps an offset, for each block of rows of each column:
/// w = q * scale - offset. In panels of columns, the last one padded with zeros:
///   words i32 [ceil(N/columns)][ceil(K/per_word)][columns]: rows one after another, the first in the lowest bits
///   scales, offsets f32 [ceil(N/columns)][blocks][columns]
struct BlockPacking {
  int64_t rows = 0;   // K
  int64_t bits = 4;   // of q, signed: 2, 4 or 8
  int64_t block = 0;  // rows; all of them, or whole words
  bool offsets = false;

  int64_t per_word() const { return 32 / bits; }
  int64_t blocks() const { return blocks_of(rows, block); }
  int64_t words() const { return blocks_of(rows, per_word()); }
  int64_t words_of_block() const { return blocks_of(block, per_word()); }
};

/// Weights packed in quads: can products of u8 with their first and with their last two be added in 16 bits? So it is
/// where |w0| + |w1| <= 128.
bool in_narrow_pairs(const Tensor& packed);

}  // namespace gcg
