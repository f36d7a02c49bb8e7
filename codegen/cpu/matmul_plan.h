// How a matrix product is cut into panels of columns, tiles of rows and tasks.
//
// Work is a grid of (batch entry, panel, row tile), one task each. A thread's contiguous range of tasks walks the row
// tiles of one panel before it goes on to the next: the panel stays in L2 and every panel is streamed from memory once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cpu/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct MatMulPlan {
  /// Where the register tiles read B: panels packed at compile time, a panel that each thread packs into its scratch
  /// when it starts on it, or the operand itself (only when its columns are contiguous).
  enum class Source : uint8_t { packed, copied, in_place };

  int lanes = 16;             // f32 of one vector
  int registers = 32;         // vector registers a tile may use
  int64_t panel_columns = 48;
  Source source = Source::packed;
  int tallest = 9;            // rows of a row tile, at most
  std::vector<int> heights;   // the row counts that tiles can have; one or two when M is constant
  Dim tiles, panels, entries; // row tiles, column panels, batch entries
  /// Cache lines of the next panel fetched in every fourth k step; nullopt when M is symbolic.
  std::optional<int64_t> prefetch_lines;

  int panel_vectors() const { return static_cast<int>(panel_columns) / lanes; }
  /// Vectors of the widest register tile of that height; divides panel_vectors().
  int widest(int rows) const;
  Dim tasks() const { return entries * panels * tiles; }
  /// Floats of scratch before the packed panel: the sums of one row tile.
  int64_t sums() const { return tallest * panel_columns; }
  Dim scratch_bytes(const Dim& k) const;
  std::string note() const;
};

MatMulPlan plan_matmul(const MatMulKernel& matmul, const CpuTarget& target);

}  // namespace gcg::cpu
