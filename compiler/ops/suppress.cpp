// gart.Suppress, which expand_non_max_suppression uses for the selection. Inputs: the boxes of each class in descending
// order of scores, as corners and areas [B, C, N]; flags [B, C, N] for boxes with a sufficient score; the maximum
// number of kept boxes; the maximum overlap. Output: flags [B, C, N] of the kept boxes, each of which overlaps no kept
// box before it.
#include <algorithm>
#include <array>
#include <vector>

#include "compiler/ops/launches.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/program_builder.h"

namespace gcg {
namespace {

enum : int { kTop, kLeft, kBottom, kRight, kArea, kFlags, kMost, kLimit };
constexpr int kCorners = 5;     // including the area
constexpr int64_t kBlock = 64;  // kept boxes that are compared at once

void infer_suppress(InferContext& ctx) { ctx.set_output(0, DType::boolean, ctx.shape(kFlags)); }

Expr minimum(const Expr& a, const Expr& b) { return binary(BinaryOp::min, a, b); }
Expr maximum(const Expr& a, const Expr& b) { return binary(BinaryOp::max, a, b); }
Expr greater(const Expr& a, const Expr& b) { return binary(BinaryOp::greater, a, b); }

/// Top, left, bottom, right and area of a box.
using Box = std::array<Expr, kCorners>;

/// True if the intersection of the boxes is more than `limit` of their union. False if a box or the intersection has no
/// area.
Expr overlap(const Box& a, const Box& b, const Expr& limit) {
  const Expr zero = number(a[0]->dtype, 0);
  const Expr height = minimum(a[kBottom], b[kBottom]) - maximum(a[kTop], b[kTop]);
  const Expr width = minimum(a[kRight], b[kRight]) - maximum(a[kLeft], b[kLeft]);
  const Expr shared = height * width;
  const Expr enough = greater(binary(BinaryOp::div, shared, a[kArea] + b[kArea] - shared), limit);
  return both(both(both(enough, greater(height, zero)), both(greater(width, zero), greater(a[kArea], zero))),
              greater(b[kArea], zero));
}

void program_suppress(ProgramBuilder& p) {
  const Shape& shape = p.input_shape(kFlags);
  const Dim& n = shape[2];
  const Expr b = p.parallel(shape[0]), c = p.parallel(shape[1]);
  const DType dtype = p.input_dtype(kTop);
  std::array<ProgramBuilder::Array, kCorners> selected{};
  for (auto& array : selected) array = p.array(dtype, n);
  const Expr most = p.let(minimum(p.input(kMost, {}), extent(n))), limit = p.let(p.input(kLimit, {}));
  const Expr count = p.variable(index(0));
  p.loop(n, [&](const Expr& i) {
    const Expr stays = p.variable(both(p.input(kFlags, {b, c, i}), binary(BinaryOp::less, count, most)));
    p.branch(stays, [&] {
      Box box;
      for (int k = 0; k < kCorners; ++k) box[static_cast<size_t>(k)] = p.let(p.input(k, {b, c, i}));
      const Expr begin = p.variable(index(0));
      p.loop_while(both(stays, binary(BinaryOp::less, begin, count)), [&] {
        const Expr end = p.let(minimum(begin + index(kBlock), count));
        const Expr hit = p.fold(ReduceOp::max, Range(index(0), end - begin, kBlock), [&](const Expr& j) {
          Box other;
          for (int k = 0; k < kCorners; ++k)
            other[static_cast<size_t>(k)] = p.at(selected[static_cast<size_t>(k)], begin + j);
          return select(overlap(box, other, limit), number(DType::f32, 1), number(DType::f32, 0));
        });
        p.set(stays, binary(BinaryOp::less, hit, number(DType::f32, 0.5)));
        p.set(begin, end);
      });
      p.branch(stays, [&] {
        for (int k = 0; k < kCorners; ++k) p.put(selected[static_cast<size_t>(k)], count, box[static_cast<size_t>(k)]);
        p.set(count, count + index(1));
      });
    });
    p.store(0, {b, c, i}, stays);
  });
}

}  // namespace

/// One block of threads per class. When a box is kept, the threads remove the later boxes that overlap it too much.
void launches_suppress(ProgramBuilder& p) {
  const Shape& shape = p.input_shape(kFlags);
  const Dim& n = shape[2];
  const ProgramBuilder::Array alive = p.array(DType::boolean, product(shape));
  p.shared_launch({shape[0], shape[1]}, [&](const std::vector<Expr>& task) {
    const Expr line = p.let((task[0] * extent(shape[1]) + task[1]) * extent(n));
    const auto box_at = [&](const Expr& j) {
      Box box;
      for (int k = 0; k < kCorners; ++k) box[static_cast<size_t>(k)] = p.input(k, {task[0], task[1], j});
      return box;
    };
    const Expr most = p.let(minimum(p.input(kMost, {}), extent(n))), limit = p.let(p.input(kLimit, {}));
    const Expr count = p.variable(index(0)), i = p.variable(index(0));
    p.each(n, [&](const Expr& j) { p.put(alive, line + j, p.input(kFlags, {task[0], task[1], j})); });
    p.loop_while(both(binary(BinaryOp::less, i, extent(n)), binary(BinaryOp::less, count, most)), [&] {
      p.branch(p.at(alive, line + i), [&] {
        Box box = box_at(i);
        for (Expr& corner : box) corner = p.let(corner);
        p.each(Range(i + index(1), extent(n), n), [&](const Expr& j) {
          const Expr stays = unary(UnaryOp::logical_not, overlap(box_at(j), box, limit));
          p.put(alive, line + j, both(p.at(alive, line + j), stays));
        });
        p.set(count, count + index(1));
      });
      p.set(i, i + index(1));
    });
    p.each(n, [&](const Expr& j) {
      p.store(0, {task[0], task[1], j}, both(p.at(alive, line + j), binary(BinaryOp::less, j, i)));
    });
  });
}

namespace {

std::vector<Tensor> reference_suppress(ReferenceContext& ctx) {
  const Tensor& flags = *ctx.input(kFlags);
  const int64_t n = flags.shape()[2], most = ctx.input(kMost)->at_int(0);
  const double limit = ctx.input(kLimit)->at_double(0);
  const auto at = [&](int what, int64_t i) { return static_cast<float>(ctx.input(what)->at_double(i)); };
  const auto overlaps = [&](int64_t i, int64_t j) {
    const float height = std::min(at(kBottom, i), at(kBottom, j)) - std::max(at(kTop, i), at(kTop, j));
    const float width = std::min(at(kRight, i), at(kRight, j)) - std::max(at(kLeft, i), at(kLeft, j));
    if (height <= 0 || width <= 0 || at(kArea, i) <= 0 || at(kArea, j) <= 0) return false;
    return height * width / (at(kArea, i) + at(kArea, j) - height * width) > static_cast<float>(limit);
  };
  Tensor y(DType::boolean, flags.shape());
  for (int64_t line = 0; n > 0 && line < flags.elements() / n; ++line) {
    std::vector<int64_t> selected;
    for (int64_t i = line * n; i < (line + 1) * n; ++i) {
      if (flags.at_int(i) == 0 || static_cast<int64_t>(selected.size()) >= most) continue;
      if (std::any_of(selected.begin(), selected.end(), [&](int64_t j) { return overlaps(i, j); })) continue;
      selected.push_back(i);
      y.set_int(i, 1);
    }
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_gart_Suppress{.name = "Suppress",
                                       .domain = "gart",
                                       .min_inputs = 8,
                                       .max_inputs = 8,
                                       .kind = OpKind::program,
                                       .infer = infer_suppress,
                                       .program = program_suppress,
                                       .reference = reference_suppress};

}  // namespace gcg
