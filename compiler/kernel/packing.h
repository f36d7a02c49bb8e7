// The layouts shared by the packed and blocked operators (packing.cpp, blocking.cpp, blocked_conv.cpp,
// blocked_pool.cpp) and the code generators. One packing of the weights serves all CPU targets.
#pragma once

#include <cstdint>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/tensor.h"

namespace gcg {

/// Columns per panel of a packed matrix: [ceil(N/48)][K][48].
inline constexpr int64_t kPanelColumns = 48;
/// Size of a VNNI group: 8-bit integers along the inner extent that are adjacent in packed operands,
/// [ceil(N/48)][K/4][48][4].
inline constexpr int64_t kVnniGroup = 4;
/// Channels per block: activations are [N][ceil(C/16)][spatial...][16].
inline constexpr int64_t kChannelBlock = 16;

/// The accumulator type of a packed contraction whose right operand has type `right`: u8 by i8 gives i32.
inline DType sum_type(DType right) { return right == DType::i8 ? DType::i32 : right; }

inline int64_t blocks_of(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

/// Convolution weights w[CO, CI/groups, kernel...] in the order in which kernels stream them:
/// [ceil(CO/columns)][ceil(inputs/unit)][kernel...][unit][columns], zero-padded; bytes in VNNI groups:
///   ...[unit/4][columns][4]
/// One or two register tiles compute a panel of columns. The channels of a unit are adjacent in the input.
struct ConvPacking {
  int64_t inputs = 0;  // channels of one group
  int64_t outputs = 0, groups = 1;
  bool plain = false;  // the convolution reads [N, C, spatial...]; only with one group
  bool bytes = false;  // u8 by i8, not plain

  int64_t group_outputs() const { return outputs / groups; }
  /// True if groups are not whole blocks: each lane of a result multiplies channels of its own group. Includes
  /// depthwise.
  bool by_lane() const { return groups > 1 && (inputs % kChannelBlock != 0 || group_outputs() % kChannelBlock != 0); }
  /// Channels that one instruction multiplies together: four neighbours in bytes, otherwise one. With by_lane(), the
  /// channels of a lane are not adjacent, so the number is 1.
  int64_t vnni_group() const { return bytes && !by_lane() ? kVnniGroup : 1; }
  int64_t unit() const { return plain ? 1 : by_lane() ? inputs : kChannelBlock; }
  int64_t columns() const {
    const bool pairs = groups == 1 || (!by_lane() && group_outputs() % (2 * kChannelBlock) == 0);
    return pairs ? 2 * kChannelBlock : kChannelBlock;
  }
  int64_t panels() const { return blocks_of(outputs, columns()); }
  int64_t units() const { return blocks_of(inputs, unit()); }
  /// Elements of one panel, for a kernel of `taps` elements.
  int64_t panel_elements(int64_t taps) const { return units() * taps * unit() * columns(); }
  Shape shape(const Shape& kernel) const;
  /// Index of the weight for output channel `co`, channel `ci` of its group, and the kernel's element `tap`.
  int64_t place(int64_t co, int64_t ci, int64_t tap, int64_t taps) const {
    const int64_t row = (co / columns() * units() + ci / unit()) * taps + tap;
    const int64_t first = ci % unit() / vnni_group() * vnni_group();
    return (row * unit() + first) * columns() + co % columns() * vnni_group() + ci % vnni_group();
  }
};

/// A block-quantised matrix. Each block of rows of each column has a scale, and optionally an offset: w = q * scale -
/// offset. It is stored in panels of columns, the last one padded with zeros:
/// words i32 [ceil(N/columns)][ceil(K/per_word)][columns]: the rows in order, the first in the lowest bits
///   scales, offsets f32 [ceil(N/columns)][blocks][columns]
struct BlockPacking {
  int64_t rows = 0;   // K
  int64_t bits = 4;   // bits per q, which is signed: 2, 4 or 8
  int64_t block = 0;  // rows per block: all rows, or a multiple of per_word()
  bool offsets = false;
  // The other factor keeps all digits of f32, even if some of its elements are far larger than the others.
  bool exact = false;

  int64_t per_word() const { return 32 / bits; }
  int64_t blocks() const { return blocks_of(rows, block); }
  int64_t words() const { return blocks_of(rows, per_word()); }
  int64_t words_of_block() const { return blocks_of(block, per_word()); }
};

/// For weights in VNNI groups: true if |w0| + |w1| <= 128 for the first two weights of each group and for the last two.
/// Then the two products with u8 can be added in 16 bits.
bool in_narrow_pairs(const Tensor& packed);

}  // namespace gcg
