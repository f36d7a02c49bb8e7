// Plans stores whose loads run along another axis than the stores. Square tiles are loaded and transposed in registers.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {

/// Tiles may be wider than rows of at least this many elements. Shorter rows are interleaved.
inline constexpr int kFewestTiled = 5;

/// Rows and lanes of the tiles that transpose a stage. For small elements this is the number of elements in one 16-byte
/// block, because longer rows would mean more rows than registers. `native`: lanes of a register. If all of `lane` is
/// shorter, the tiles have as few lanes as it needs.
int tile_side(const Stage& stage, const Axis& lane, int native);

/// True if `side` elements of each load are whole blocks of 16 bytes, which `emit_transpose` needs.
bool has_whole_blocks(const std::vector<Expr>& loads, int side);

/// Finds the loads of the stage that tiles of `side` lanes along `lane` transpose. The other axis of the tiles has at
/// least `fewest` rows.
std::optional<Tile> tile_of(const Stage& stage, const Axis& lane, const std::vector<Axis>& axes,
                            const std::vector<Operand>& operands, int side, int fewest);

/// Lanes of the parts into which tiles divide a row. 0: tiles do not transpose the stage along `lane`, or the row is
/// shorter than a part or of unknown length. A row of one part, such as a block of channels, is better than a row with
/// an interior, and better than wider vectors along other axes.
int row_of_tile(const Stage& stage, const Axis& lane, std::vector<Axis> axes, const std::vector<Operand>& operands,
                int native);

}  // namespace gcg::cpu
