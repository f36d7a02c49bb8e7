// NonMaxSuppression: among boxes that overlap much, keeps only the one with the best score, per batch and class. Each
// kept box gives a row (batch, class, box). Rows of a class are in descending order of scores; among equal scores the
// first is better. expand_non_max_suppression rewrites it with gart.Suppress.
#include "compiler/ops/non_max_suppression.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

void infer_nms(InferContext& ctx) {
  if (ctx.rank(kNmsBoxes) != 3 || ctx.rank(kNmsScores) != 3)
    ctx.fail("the inputs must be boxes [B, N, 4] and scores [B, C, N]");
  const Shape &boxes = ctx.shape(kNmsBoxes), &scores = ctx.shape(kNmsScores);
  ctx.require_equal(boxes[2], 4, "coordinates of a box");
  ctx.require_equal(scores[0], boxes[0], "the batches of boxes and scores");
  ctx.require_equal(scores[2], boxes[1], "boxes and their scores");
  for (int i : {kNmsMost, kNmsOverlap, kNmsScore})
    if (ctx.has_input(i)) ctx.require_equal(product(ctx.shape(i)), 1, concat("input ", i, " is a scalar"));
  ctx.set_output(0, DType::i64, {ctx.fresh_symbol("selected"), 3});
}

struct Box {
  float y1, x1, y2, x2;

  Box(const Tensor& boxes, int64_t row, bool centred) {
    const auto at = [&](int64_t i) { return static_cast<float>(boxes.at_double(row * 4 + i)); };
    if (centred) {
      x1 = at(0) - at(2) / 2, x2 = at(0) + at(2) / 2, y1 = at(1) - at(3) / 2, y2 = at(1) + at(3) / 2;
    } else {
      y1 = std::min(at(0), at(2)), y2 = std::max(at(0), at(2)), x1 = std::min(at(1), at(3)),
      x2 = std::max(at(1), at(3));
    }
  }
  float area() const { return (y2 - y1) * (x2 - x1); }
  bool overlaps(const Box& other, float most) const {
    const float height = std::min(y2, other.y2) - std::max(y1, other.y1),
                width = std::min(x2, other.x2) - std::max(x1, other.x1);
    if (height <= 0 || width <= 0 || area() <= 0 || other.area() <= 0) return false;
    return height * width / (area() + other.area() - height * width) > most;
  }
};

std::vector<Tensor> reference_nms(ReferenceContext& ctx) {
  const Tensor &boxes = *ctx.input(kNmsBoxes), &scores = *ctx.input(kNmsScores);
  const auto optional = [&](int i) { return i < ctx.input_count() ? ctx.input(i) : nullptr; };
  const Tensor *overlap = optional(kNmsOverlap), *score = optional(kNmsScore), *most_input = optional(kNmsMost);
  const int64_t batches = scores.shape()[0], classes = scores.shape()[1], count = scores.shape()[2];
  const int64_t most = most_input != nullptr ? most_input->at_int(0) : 0;
  const auto limit = overlap != nullptr ? static_cast<float>(overlap->at_double(0)) : 0.0F;
  const bool centred = ctx.node().int_attribute("center_point_box", 0) != 0;
  std::vector<std::array<int64_t, 3>> rows;
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      const auto score_of = [&](int64_t i) { return scores.at_double((b * classes + c) * count + i); };
      std::vector<int64_t> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score_of(i) > score_of(j); });
      std::vector<Box> selected;
      for (int64_t i : order) {
        if (static_cast<int64_t>(selected.size()) >= most) break;
        if (score != nullptr && !(score_of(i) > score->at_double(0))) continue;
        const Box box(boxes, b * count + i, centred);
        if (std::any_of(selected.begin(), selected.end(), [&](const Box& k) { return k.overlaps(box, limit); }))
          continue;
        selected.push_back(box);
        rows.push_back({b, c, i});
      }
    }
  Tensor y(DType::i64, {static_cast<int64_t>(rows.size()), 3});
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t k = 0; k < 3; ++k) y.set_int(static_cast<int64_t>(r * 3 + k), rows[r][k]);
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_NonMaxSuppression{
    .name = "NonMaxSuppression",
    .since = 10,
    .min_inputs = 2,
    .max_inputs = 5,
    .types = {Types::floats, Types::as_first, Types::integers, Types::floats, Types::floats},
    .results = {Types::i64},
    .kind = OpKind::opaque,
    .infer = infer_nms,
    .reference = reference_nms};

}  // namespace gcg
