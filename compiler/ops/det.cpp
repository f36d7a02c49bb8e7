// Det: determinants of matrices [.., n, n], by elimination with partial pivoting.
#include <cmath>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/program_builder.h"

namespace gcg {
namespace {

void infer_det(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  if (x.size() < 2) ctx.fail("the input must have at least 2 dimensions");
  ctx.require_equal(x[x.size() - 2], x.back(), "rows and columns");
  ctx.set_output(0, ctx.dtype(0), Shape(x.begin(), x.end() - 2));
}

/// Elimination of one matrix to triangular form.
class Elimination {
 public:
  explicit Elimination(ProgramBuilder& p)
      : p_(p),
        n_(p.input_shape(0).back()),
        dtype_(arithmetic_dtype(p.input_dtype(0))),
        batch_(p.parallel(product(p.output_shape(0)))),
        m_(p.array(dtype_, n_ * n_)) {}

  void run() {
    const Dim size = n_ * n_;
    p_.each(size, [&](const Expr& i) { p_.put(m_, i, cast(dtype_, p_.input(0, {batch_ * extent(size) + i}))); });
    const Expr result = p_.variable(number(dtype_, 1));
    p_.loop(n_, [&](const Expr& k) {
      const Expr row = pivot_of(k);
      p_.branch(binary(BinaryOp::not_equal, row, k), [&] {
        swap_rows(row, k);
        p_.set(result, number(dtype_, 0) - result);
      });
      const Expr pivot = p_.let(at(k, k));
      p_.set(result, result * pivot);
      p_.branch(binary(BinaryOp::not_equal, pivot, number(dtype_, 0)), [&] { clear_below(k, pivot); });
    });
    p_.store(0, {batch_}, result);
  }

 private:
  Expr place(const Expr& row, const Expr& column) const { return row * extent(n_) + column; }
  Expr at(const Expr& row, const Expr& column) const { return p_.at(m_, place(row, column)); }
  Range after(const Expr& k) const { return {k + index(1), extent(n_), n_}; }

  /// The row, from k on, with the largest element in column k.
  Expr pivot_of(const Expr& k) {
    const Expr row = p_.variable(k), largest = p_.variable(unary(UnaryOp::abs, at(k, k)));
    p_.loop(after(k), [&](const Expr& r) {
      const Expr here = p_.let(unary(UnaryOp::abs, at(r, k)));
      p_.branch(binary(BinaryOp::less, largest, here), [&] {
        p_.set(row, r);
        p_.set(largest, here);
      });
    });
    return row;
  }

  void swap_rows(const Expr& a, const Expr& b) {
    p_.loop(n_, [&](const Expr& c) {
      const Expr kept = p_.let(at(a, c));
      p_.put(m_, place(a, c), at(b, c));
      p_.put(m_, place(b, c), kept);
    });
  }

  void clear_below(const Expr& k, const Expr& pivot) {
    p_.loop(after(k), [&](const Expr& r) {
      const Expr factor = p_.let(binary(BinaryOp::div, at(r, k), pivot));
      p_.each(after(k), [&](const Expr& c) { p_.put(m_, place(r, c), at(r, c) - factor * at(k, c)); });
    });
  }

  ProgramBuilder& p_;
  Dim n_;
  DType dtype_;
  Expr batch_;
  ProgramBuilder::Array m_;
};

void program_det(ProgramBuilder& p) { Elimination(p).run(); }

/// The product of the diagonal after Givens rotations of pairs of rows, which need no pivots.
double determinant(std::vector<double> m, int64_t n) {
  const auto at = [&](int64_t r, int64_t c) -> double& { return m[static_cast<size_t>(r * n + c)]; };
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t r = k + 1; r < n; ++r) {
      const double length = std::hypot(at(k, k), at(r, k));
      if (length == 0) continue;
      const double cosine = at(k, k) / length, sine = at(r, k) / length;
      for (int64_t c = 0; c < n; ++c) {
        const double upper = at(k, c), lower = at(r, c);
        at(k, c) = cosine * upper + sine * lower;
        at(r, c) = cosine * lower - sine * upper;
      }
    }
  }
  double result = 1;
  for (int64_t k = 0; k < n; ++k) result *= at(k, k);
  return result;
}

std::vector<Tensor> reference_det(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t n = x.shape().back();
  Tensor y(x.dtype(), {x.shape().begin(), x.shape().end() - 2});
  for (int64_t i = 0; i < y.elements(); ++i) {
    std::vector<double> m;
    for (int64_t e = 0; e < n * n; ++e) m.push_back(x.at_double(i * n * n + e));
    y.set_double(i, determinant(std::move(m), n));
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Det{.name = "Det",
                             .since = 11,
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .types = {Types::floats},
                             .kind = OpKind::program,
                             .infer = infer_det,
                             .program = program_det,
                             .reference = reference_det};

}  // namespace gcg
