#include "codegen/cpu/contractions/conv_epilogue.h"

#include <algorithm>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

constexpr int64_t block = 16;

/// True if a step to the next row moves the address as far as `width` steps within a row.
bool flat_access(const Operand& operand, const std::vector<Expr>& index, const ConvKernel& conv) {
  const std::optional<Dim> row = address_stride(operand, index, conv.h.id);
  const std::optional<Dim> column = address_stride(operand, index, conv.w.id);
  return row && column && *row == *column * conv.out_width;
}

bool flat_value(const Kernel& kernel, const ConvKernel& conv, const Expr& e) {
  if (e->kind == ExprKind::axis) return e->axis != conv.h.id && e->axis != conv.w.id;
  if (e->kind == ExprKind::load) return flat_access(kernel.operands[static_cast<size_t>(e->operand)], e->args, conv);
  return std::all_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return flat_value(kernel, conv, a); });
}

bool whole_blocks(const Dim& d) {
  return std::all_of(d.terms().begin(), d.terms().end(), [](const auto& term) { return term.second % block == 0; });
}

/// True if every lane of a block exists in memory: every block begins at a multiple of 16 elements, and the operand
/// consists of whole blocks.
bool blocked_linear_access(const Dim& elements, const Expr& index, int lane) {
  const auto affine = as_affine(index);
  return affine && whole_blocks(elements) && whole_blocks(affine->base) &&
         std::all_of(affine->strides.begin(), affine->strides.end(),
                     [&](const auto& s) { return s.first == lane ? s.second.is(1) : whole_blocks(s.second); });
}

/// True if the lane of the channel block is the operand's last index, of extent 16. Such a lane exists in memory even
/// past the last channel. It is never read, and storing it with the others needs no mask.
bool blocked_access(const Operand& operand, const std::vector<Expr>& index, int lane) {
  if (index.size() == 1 && depends_on(index[0], lane) && operand.shape.size() == 1)
    return blocked_linear_access(operand.shape[0], index[0], lane);
  for (size_t i = 0; i + 1 < index.size(); ++i)
    if (depends_on(index[i], lane)) return false;
  if (index.empty() || !depends_on(index.back(), lane)) return true;
  return index.back()->kind == ExprKind::axis && operand.shape.back().is(block);
}

bool all_blocked(const Kernel& kernel, const ConvKernel& conv) {
  bool blocked = blocked_access(kernel.operands[static_cast<size_t>(conv.result)], conv.index, conv.lane.id);
  visit(conv.epilogue, [&](const ExprNode& n) {
    if (n.kind == ExprKind::load)
      blocked = blocked && blocked_access(kernel.operands[static_cast<size_t>(n.operand)], n.args, conv.lane.id);
  });
  return blocked;
}

/// About the number of instructions of one evaluation.
int code_length(const Expr& epilogue) {
  int length = 0;
  visit(epilogue, [&](const ExprNode& n) {
    const bool is_angle =
        n.kind == ExprKind::unary && (n.unary == UnaryOp::sin || n.unary == UnaryOp::cos || n.unary == UnaryOp::tan);
    length += is_angle ? 60 : is_elementary_function(n) ? 20 : 1;
  });
  return length;
}

constexpr int kLongCode = 40;  // longer code is emitted once for all pixels of a tile; SiLU and GELU have about 25

}  // namespace

bool epilogue_allows_flat(const Kernel& kernel, const ConvKernel& conv) {
  return flat_value(kernel, conv, conv.epilogue) &&
         flat_access(kernel.operands[static_cast<size_t>(conv.result)], conv.index, conv);
}

ConvEpilogue::ConvEpilogue(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan)
    : f_(f),
      conv_(conv),
      plan_(plan),
      expressions_(f),
      masked_(conv.out_channels % block != 0 && !all_blocked(f.kernel(), conv)),
      is_long_(code_length(conv.epilogue) > kLongCode) {}

Point ConvEpilogue::point_of(const TileResult& tile, const Pixel& pixel, int64_t vector) {
  const int64_t lane = vector * plan_.lanes;
  Point point;
  point.lanes = static_cast<int>(plan_.lanes);
  point.lane_axis = conv_.lane.id;
  point.axes = {{conv_.n.id, tile.image},
                {conv_.cb.id, plus(tile.block, f_.i64(lane / block))},
                {conv_.h.id, plus(tile.row, pixel.row)},
                {conv_.w.id, plus(tile.pixel, pixel.column)},
                {conv_.lane.id, plus(tile.first_lane, f_.i64(lane % block))}};
  if (conv_.d.id >= 0) point.axes[conv_.d.id] = tile.plane;
  if (masked_) {
    llvm::Value* channel =
        f_.ir().CreateAdd(f_.ir().CreateMul(point.axes[conv_.cb.id], f_.i64(block)), point.axes[conv_.lane.id]);
    point.mask = f_.first_lanes(f_.ir().CreateSub(f_.i64(conv_.out_channels), channel), point.lanes);
  }
  return point;
}

llvm::Value* ConvEpilogue::plus(llvm::Value* a, llvm::Value* b) { return f_.ir().CreateAdd(a, b, "", true, true); }

void ConvEpilogue::store(const TileResult& tile) {
  if (is_long_ && tile.shape.pixels() > 1) return store_in_loop(tile);
  const int64_t columns = tile.shape.columns.positions;
  std::vector<Pixel> pixels;
  for (int64_t p = 0; p < tile.shape.pixels(); ++p) pixels.push_back({f_.i64(p / columns), f_.i64(p % columns)});
  store_pixels(tile, pixels, tile.sums);
}

void ConvEpilogue::store_pixels(const TileResult& tile, const std::vector<Pixel>& pixels,
                                const FunctionBuilder::Values& sums) {
  // Computes all values before the first store, so that loads that pixels share (the bias) are done once.
  const size_t vectors = sums.size() / pixels.size();
  std::vector<Point> points;
  FunctionBuilder::Values values;
  for (size_t i = 0; i < sums.size(); ++i) {
    points.push_back(point_of(tile, pixels[i / vectors], static_cast<int64_t>(i % vectors)));
    points.back().accumulator = sums[i];
    values.push_back(expressions_.evaluate(conv_.epilogue, points.back()));
  }
  for (size_t i = 0; i < points.size(); ++i) expressions_.store(conv_.result, conv_.index, values[i], points[i]);
}

void ConvEpilogue::store_in_loop(const TileResult& tile) {
  llvm::IRBuilder<>& ir = f_.ir();
  llvm::Type* vector = tile.sums[0]->getType();
  const auto count = static_cast<int64_t>(tile.sums.size());
  const int64_t columns = tile.shape.columns.positions, vectors = count / tile.shape.pixels();
  llvm::AllocaInst* memory = f_.take_memory(count * plan_.lanes * 4);
  const auto place = [&](llvm::Value* index) { return ir.CreateGEP(vector, memory, index); };
  for (int64_t i = 0; i < count; ++i) ir.CreateStore(tile.sums[static_cast<size_t>(i)], place(f_.i64(i)));
  f_.for_loop(f_.i64(0), f_.i64(tile.shape.pixels() / columns), f_.i64(1), [&](llvm::Value* row) {
    f_.for_loop(f_.i64(0), f_.i64(columns), f_.i64(1), [&](llvm::Value* column) {
      llvm::Value* first = ir.CreateMul(plus(ir.CreateMul(row, f_.i64(columns)), column), f_.i64(vectors));
      FunctionBuilder::Values sums;
      for (int64_t v = 0; v < vectors; ++v) sums.push_back(ir.CreateLoad(vector, place(plus(first, f_.i64(v)))));
      store_pixels(tile, {{row, column}}, sums);
    });
  });
  f_.give_memory(memory);
}

}  // namespace gcg::cpu
