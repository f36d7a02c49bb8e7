#include "codegen/cpu/contractions/matmul_epilogue.h"

#include <algorithm>

namespace gcg::cpu {
namespace {

constexpr int vectors_together = 3;  // vectors processed together, to hide the latency of the epilogue's arithmetic

}  // namespace

void MatMulEpilogue::store(const RowTileSums& tile) {
  llvm::IRBuilder<>& ir = f_.ir();
  Point point;
  for (size_t i = 0; i < tile.batch.size(); ++i) point.axes[matmul_.batch[i].id] = tile.batch[i];
  const Dim& n = matmul_.n.extent;
  const DType sum = type_of_sums(plan_.multiply);
  const int lanes = n.is(1) ? 1 : plan_.lanes;  // a single column may have no stride
  if (lanes > 1) point.lane_axis = matmul_.n.id;
  point.lanes = lanes;
  f_.for_loop(f_.i64(0), tile.rows, f_.i64(1), [&](llvm::Value* r) {
    point.axes[matmul_.m.id] = ir.CreateAdd(tile.row, r);
    llvm::Value* base = f_.element_address(tile.sums, plan_.word(), ir.CreateMul(r, f_.i64(plan_.panel_columns)));
    auto vector = [&](llvm::Value* place, llvm::Value* mask) {
      point.axes[matmul_.n.id] = ir.CreateAdd(tile.column, place);
      point.accumulator = f_.load(base, sum, place, lanes);
      point.mask = mask;
      expr_.store(matmul_.result, matmul_.index, matmul_.epilogue, point);
    };
    if (lanes == 1) return vector(f_.i64(0), nullptr);
    llvm::Value* whole_columns = ir.CreateAnd(tile.columns, f_.i64(-plan_.lanes));
    whole_vectors(whole_columns, vector);
    if (n.is_constant() && n.constant() % plan_.lanes == 0) return;
    f_.if_then(ir.CreateICmpSLT(whole_columns, tile.columns),
               [&] { vector(whole_columns, f_.first_lanes(ir.CreateSub(tile.columns, whole_columns), plan_.lanes)); });
  });
}

/// Emits vector(place) for all places in [0, end). Several are emitted together where there are enough.
void MatMulEpilogue::whole_vectors(llvm::Value* end, const std::function<void(llvm::Value*, llvm::Value*)>& vector) {
  llvm::IRBuilder<>& ir = f_.ir();
  const Dim& n = matmul_.n.extent;
  int together = std::min(vectors_together, plan_.panel_vectors());
  if (n.is_constant()) together = std::min(together, std::max(1, static_cast<int>(n.constant()) / plan_.lanes));
  llvm::Value* step = f_.i64(int64_t{together} * plan_.lanes);
  llvm::Value* end_together = ir.CreateMul(ir.CreateSDiv(end, step), step);
  f_.for_loop(f_.i64(0), end_together, step, [&](llvm::Value* place) {
    for (int v = 0; v < together; ++v) vector(ir.CreateAdd(place, f_.i64(int64_t{v} * plan_.lanes)), nullptr);
  });
  const bool always_together =
      n.is_constant() && n.constant() % (int64_t{together} * plan_.lanes) == 0 && plan_.panel_vectors() % together == 0;
  if (together == 1 || always_together) return;
  f_.for_loop(end_together, end, f_.i64(plan_.lanes), [&](llvm::Value* place) { vector(place, nullptr); });
}

}  // namespace gcg::cpu
