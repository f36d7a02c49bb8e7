// Passes of a convolution's task over parts of its depth. A panel of weights too large to stay in a near cache is then
// read once per task instead of once per tile. Between passes the sums of all the task's tiles wait in scratch memory,
// in the order in which tiles are visited.
#pragma once

#include <functional>

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {

class ConvPasses {
 public:
  using Values = FunctionBuilder::Values;

  ConvPasses(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

  /// Emits `task` once, inside a loop over the passes if the plan has any.
  void for_each(const std::function<void()>& task);
  /// Sets the tile's part of the depth, and its `sums` vectors of initial sums.
  void begin_tile(TilePosition& place, int64_t sums);
  /// Keeps the tile's sums for the next pass. After the last pass, gives them to `store`.
  void end_tile(const Values& sums, const std::function<void()>& store);

 private:
  llvm::Value* address(llvm::Value* place, size_t vector);

  FunctionBuilder& f_;
  const ConvPlan& plan_;
  const int64_t units_;
  ValueRange range_;                  // the units of this pass
  llvm::AllocaInst* next_ = nullptr;  // position in scratch memory of the next tile's sums, in floats
  llvm::Value* sums_ = nullptr;       // of this tile
};

}  // namespace gcg::cpu
