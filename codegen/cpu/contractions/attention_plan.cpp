#include "codegen/cpu/contractions/attention_plan.h"

#include <algorithm>

#include "codegen/cpu/loops/loop_keep.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kLineWords = kCacheLine / 4;
/// Bytes of a block's scores: half of an L2, because keys and values stream through the same L2.
constexpr int64_t kMostRowBytes = kCommonL2 / 2;
/// Row tiles of a block. With more, panels are read less often, but there are fewer tasks.
constexpr int64_t kMostTiles = 4;

int fresh_axis_id(const AttentionKernel& k) {
  int most = -1;
  const auto see = [&](const Axis& a) { most = std::max(most, a.id); };
  for (const Axis& a : k.batch) see(a);
  for (const Axis& a : {k.m, k.n, k.t, k.d}) see(a);
  for (const Expr& e : {k.scores, k.row_mask, k.epilogue})
    if (e) visit(e, [&](const ExprNode& n) { std::for_each(n.reduce_axes.begin(), n.reduce_axes.end(), see); });
  return most + 1;
}

/// Words of a row of scores: whole cache lines and one more. Rows at a distance of a multiple of 4096 bytes would share
/// sets of the L1.
Dim row_words(const AttentionKernel& k) { return ceil_div(k.t.extent, kLineWords) * kLineWords + Dim(kLineWords); }

/// The index of the score of (m, t) in a block that begins with row `first`.
std::vector<Expr> score_index(const AttentionKernel& k, const Axis& first) {
  return {(axis_ref(k.m) - axis_ref(first)) * extent(row_words(k)) + axis_ref(k.t)};
}

void plan_products(FunctionBuilder& f, const AttentionKernel& k, AttentionPlan& plan) {
  MatMulKernel &scores = plan.scores, &sums = plan.sums;
  scores.batch = sums.batch = k.batch;
  scores.batch.push_back(plan.first);
  sums.batch.push_back(plan.first);
  scores.m = sums.m = k.m;
  scores.n = sums.k = k.t;
  scores.k = k.d;
  sums.n = k.n;
  scores.a = k.q;
  scores.b = k.k;
  sums.b = k.v;
  for (MatrixView* view : {&scores.a, &scores.b, &sums.b}) view->batch_strides.emplace_back(0);
  sums.a = {plan.rows, 0, std::vector<Dim>(k.batch.size(), 0), row_words(k), 1};
  sums.a.batch_strides.push_back(Dim(0) - row_words(k));
  scores.epilogue = k.scores;
  scores.result = plan.rows;
  scores.index = score_index(k, plan.first);
  sums.epilogue = k.epilogue;
  sums.result = k.result;
  sums.index = k.index;
  plan.scores_plan = plan_matmul(scores, f.target(), Multiply::floats);
  plan.sums_plan = plan_matmul(sums, f.target(), Multiply::floats);
  GCG_CHECK(plan.scores_plan.heights == plan.sums_plan.heights, "row tiles of an attention's products");
}

/// Plans the softmax as if it were lowered as an operator of its own.
void plan_softmax(FunctionBuilder& f, const AttentionKernel& k, AttentionPlan& plan) {
  const std::vector<Expr> index = score_index(k, plan.first);
  const Expr x = load(plan.rows, DType::f32, index);
  const auto reduction = [&](ReduceOp op, const Expr& value, int local) {
    Stage stage;
    stage.kind = Stage::Kind::reduce;
    stage.axes = {k.t};
    stage.value = value;
    stage.reduce = op;
    stage.local = local;
    return stage;
  };
  const Expr e = unary(UnaryOp::exp, x - local_ref(0, DType::f32)), zero = constant_float(DType::f32, 0);
  Expr p = e * unary(UnaryOp::reciprocal, local_ref(1, DType::f32));
  if (k.is_nan_zero) p = select(unary(UnaryOp::is_nan, p), zero, p);
  if (k.row_mask) p = select(k.row_mask, p, zero);
  Stage store;
  store.axes = {k.t};
  store.value = p;
  store.operand = plan.rows;
  store.index = index;
  std::vector<Stage> stages = {reduction(ReduceOp::max, x, 0), reduction(ReduceOp::sum, e, 1), std::move(store)};
  const std::vector<Operand>& operands = f.kernel().operands;
  const KeptValue kept = keep_reduced_value(stages, operands);
  for (Stage& stage : stages) {
    StagePlan point;
    point.stage = stage;
    plan.softmax.push_back(k.t.extent.is(1) ? point : plan_row(f.target(), std::move(stage), k.t, operands));
  }
  if (kept.stage >= 0) plan.softmax[static_cast<size_t>(kept.stage)].kept_value = kept;
}

}  // namespace

Dim AttentionPlan::tasks() const {
  Dim entries = 1;
  for (auto axis = scores.batch.begin(); axis + 1 != scores.batch.end(); ++axis) entries = entries * axis->extent;
  return entries * blocks;
}

Dim AttentionPlan::kept_panels(const MatMulPlan& product) const {
  if (!product.copies()) return 0;
  return min(product.panels, Dim(1) + max(blocks - Dim(1), 0) * product.panels);
}

Dim AttentionPlan::panel_offset(const MatMulPlan& product) const {
  const Dim keys = scores_plan.tile_sums();
  return &product == &scores_plan ? keys : keys + kept_panels(scores_plan) * scores_plan.panel_words();
}

Dim AttentionPlan::words() const { return panel_offset(sums_plan) + kept_panels(sums_plan) * sums_plan.panel_words(); }

std::string AttentionPlan::note() const {
  return concat("scores ", scores_plan.note(), "; sums ", sums_plan.note(), "; blocks of ", block_tiles.str(),
                " row tiles");
}

AttentionPlan plan_attention(FunctionBuilder& f, const AttentionKernel& k) {
  AttentionPlan plan;
  plan.first = {fresh_axis_id(k), k.m.extent};
  plan.rows = static_cast<int>(f.kernel().operands.size());
  plan_products(f, k, plan);
  const Dim& tiles = plan.scores_plan.tiles;
  const Dim tile_bytes = row_words(k) * size_of(DType::f32) * plan.scores_plan.heights.back();
  const Dim most = max(min(floor_div(kMostRowBytes, tile_bytes), kMostTiles), 1);
  plan.blocks = ceil_div(tiles, most);
  plan.block_tiles = ceil_div(tiles, max(plan.blocks, 1));
  f.add_array(DType::f32, plan.block_tiles * plan.scores_plan.heights.back() * row_words(k));
  plan_softmax(f, k, plan);
  return plan;
}

}  // namespace gcg::cpu
