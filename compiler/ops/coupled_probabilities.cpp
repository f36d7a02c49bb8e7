// gart.CoupledProbabilities: finds the probabilities p of k classes that fit the given pairwise probabilities best.
// r[i][j] is the probability of class i against class j. p minimises the sum over i != j of (r[j][i] p[i] - r[i][j]
// p[j])^2 (Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling", 2004, second
// approach). It runs the paper's algorithm 2 with libsvm's limits on the number of steps and the error, because support
// vector machines must give libsvm's results.
#include <algorithm>
#include <cmath>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/program_builder.h"

namespace gcg {
namespace {

constexpr int64_t kMaxIterations = 100;
constexpr double kTolerance = 0.005;  // divided by the number of classes before use

int64_t classes_of(const Node& node) { return node.int_attribute("classes", 0); }

/// Input: [N, k (k - 1) / 2], r[i][j] for i < j, row by row. Output: [N, k].
void infer_coupled(InferContext& ctx) {
  const int64_t k = classes_of(ctx.node());
  ctx.require_equal(ctx.shape(0).at(1), Dim(k * (k - 1) / 2), "pairs of classes");
  ctx.set_output(0, ctx.dtype(0), {ctx.shape(0)[0], Dim(k)});
}

/// Computes one row.
class Coupling {
 public:
  explicit Coupling(ProgramBuilder& p)
      : p_(p),
        k_(classes_of(p.node())),
        dtype_(arithmetic_dtype(p.input_dtype(0))),
        row_(p.parallel(p.output_shape(0)[0])),
        q_(p.array(dtype_, Dim(k_ * k_))),
        qp_(p.array(dtype_, Dim(k_))),
        found_(p.array(dtype_, Dim(k_))) {}

  void run() {
    fill_q();
    const Expr turns = p_.variable(index(0));
    p_.loop_while(binary(BinaryOp::less, turns, index(std::max(kMaxIterations, k_))), [&] {
      const Expr sum = products();
      const Expr apart = p_.variable(of(0));
      p_.loop(Dim(k_), [&](const Expr& t) {
        p_.set(apart, binary(BinaryOp::max, apart, unary(UnaryOp::abs, p_.at(qp_, t) - sum)));
      });
      p_.branch(
          binary(BinaryOp::less, apart, of(kTolerance / static_cast<double>(k_))),
          [&] { p_.set(turns, index(std::max(kMaxIterations, k_))); },
          [&] {
            p_.loop(Dim(k_), [&](const Expr& t) { step(t, sum); });
            p_.set(turns, turns + index(1));
          });
    });
    p_.loop(Dim(k_), [&](const Expr& t) { p_.store(0, {row_, t}, p_.at(found_, t)); });
  }

 private:
  Expr of(double value) const { return number(dtype_, value); }
  Expr place(const Expr& i, const Expr& j) const { return i * index(k_) + j; }
  Expr q(const Expr& i, const Expr& j) const { return p_.at(q_, place(i, j)); }
  static Expr over(const Expr& a, const Expr& b) { return binary(BinaryOp::div, a, b); }

  /// Q[i][i] = sum over j of r[j][i]^2, Q[i][j] = -r[j][i] r[i][j]. Initially all classes have equal probability.
  void fill_q() {
    p_.loop(Dim(k_), [&](const Expr& t) {
      p_.put(q_, place(t, t), of(0));
      p_.put(found_, t, of(1.0 / static_cast<double>(k_)));
    });
    const Expr pair = p_.variable(index(0));
    p_.loop(Dim(k_), [&](const Expr& i) {
      p_.loop(Range(i + index(1), index(k_), Dim(k_)), [&](const Expr& j) {
        const Expr first = p_.let(cast(dtype_, p_.input(0, {row_, pair}))), second = p_.let(of(1) - first);
        p_.put(q_, place(i, i), q(i, i) + second * second);
        p_.put(q_, place(j, j), q(j, j) + first * first);
        p_.put(q_, place(i, j), of(0) - first * second);
        p_.put(q_, place(j, i), of(0) - first * second);
        p_.set(pair, pair + index(1));
      });
    });
  }

  /// Sets qp = Q p and returns a variable with p Q p.
  Expr products() {
    const Expr sum = p_.variable(of(0));
    p_.loop(Dim(k_), [&](const Expr& t) {
      const Expr row = p_.variable(of(0));
      p_.loop(Dim(k_), [&](const Expr& j) { p_.set(row, row + q(t, j) * p_.at(found_, j)); });
      p_.put(qp_, t, row);
      p_.set(sum, sum + p_.at(found_, t) * row);
    });
    return sum;
  }

  /// Finds the p[t] that is best for the current other values. Then scales all values to a sum of 1, and updates qp and
  /// p Q p.
  void step(const Expr& t, const Expr& sum) {
    const Expr by = p_.let(over(sum - p_.at(qp_, t), q(t, t)));
    const Expr scale = p_.let(of(1) + by);
    p_.put(found_, t, p_.at(found_, t) + by);
    p_.set(sum, over(over(sum + by * (by * q(t, t) + of(2) * p_.at(qp_, t)), scale), scale));
    p_.loop(Dim(k_), [&](const Expr& j) {
      p_.put(qp_, j, over(p_.at(qp_, j) + by * q(t, j), scale));
      p_.put(found_, j, over(p_.at(found_, j), scale));
    });
  }

  ProgramBuilder& p_;
  int64_t k_;
  DType dtype_;
  Expr row_;
  ProgramBuilder::Array q_, qp_, found_;
};

void program_coupled(ProgramBuilder& p) { Coupling(p).run(); }

/// The exact limit of the iteration: p solves the linear equations Q p = b 1, sum of p = 1.
std::vector<double> coupled(const std::vector<std::vector<double>>& r) {
  const size_t k = r.size();
  std::vector<std::vector<double>> m(k + 1, std::vector<double>(k + 2, 0));
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < k; ++j) {
      if (i == j) continue;
      m[i][i] += r[j][i] * r[j][i];
      m[i][j] = -r[j][i] * r[i][j];
    }
    m[i][k] = m[k][i] = 1;
  }
  m[k][k + 1] = 1;
  for (size_t c = 0; c <= k; ++c) {  // Gauss-Jordan
    size_t pivot = c;
    for (size_t i = c; i <= k; ++i)
      if (std::abs(m[i][c]) > std::abs(m[pivot][c])) pivot = i;
    std::swap(m[c], m[pivot]);
    for (size_t i = 0; i <= k; ++i) {
      if (i == c) continue;
      const double factor = m[i][c] / m[c][c];
      for (size_t j = c; j < k + 2; ++j) m[i][j] -= factor * m[c][j];
    }
  }
  std::vector<double> p;
  for (size_t i = 0; i < k; ++i) p.push_back(m[i][k + 1] / m[i][i]);
  return p;
}

std::vector<Tensor> reference_coupled(ReferenceContext& ctx) {
  const Tensor& pairs = *ctx.input(0);
  const auto k = static_cast<size_t>(classes_of(ctx.node()));
  Tensor y(pairs.dtype(), {pairs.shape()[0], static_cast<int64_t>(k)});
  int64_t from = 0, to = 0;
  for (int64_t row = 0; row < pairs.shape()[0]; ++row) {
    std::vector<std::vector<double>> r(k, std::vector<double>(k, 0));
    for (size_t i = 0; i < k; ++i) {
      for (size_t j = i + 1; j < k; ++j) {
        r[i][j] = pairs.at_double(from++);
        r[j][i] = 1 - r[i][j];
      }
    }
    for (const double p : coupled(r)) y.set_double(to++, p);
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_gart_CoupledProbabilities{.name = "CoupledProbabilities",
                                                   .domain = "gart",
                                                   .min_inputs = 1,
                                                   .max_inputs = 1,
                                                   .types = {Types::floats},
                                                   .kind = OpKind::program,
                                                   .infer = infer_coupled,
                                                   .program = program_coupled,
                                                   .reference = reference_coupled};

}  // namespace gcg
