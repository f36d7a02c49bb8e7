// Gradients of matrix products.
#include <algorithm>
#include <set>

#include "compiler/ops/einsum.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

/// [..., m, k] as [m', k], where m' counts all rows of all matrices.
Formula rows_of(Formula x) {
  if (x.rank() == 2) return x;
  return reshape(x, join({x.writer->ints({-1}), extents_of(x, x.rank() - 1, x.rank())}, 0));
}

/// For operands of rank 2 or more. The gradient of weights that all matrices of the batch share is one product over all
/// rows.
void matrices(C& c, Formula a, Formula b, Formula g) {
  if (c.wants(0)) c.set(0, fit(matmul(g, matrix_transpose(b)), c.x(0)));
  if (!c.wants(1)) return;
  const bool is_shared = b.rank() == 2 && a.rank() > 2;
  c.set(1, is_shared ? matmul(matrix_transpose(rows_of(a)), rows_of(g)) : matmul(matrix_transpose(a), g));
}

void matmul_rule(C& c) {
  const Formula a = c.x(0), b = c.x(1), g = c.g();
  if (a.rank() == 1 && b.rank() == 1) {
    c.set(0, g * b);
    return c.set(1, g * a);
  }
  if (a.rank() >= 2 && b.rank() >= 2) return matrices(c, a, b, g);
  if (a.rank() == 1) {  // a row times matrices
    const Formula row = unsqueeze(g, {g.rank() - 1});
    if (c.wants(0)) c.set(0, squeeze(matmul(row, matrix_transpose(b)), {b.rank() - 2}));
    return c.set(1, unsqueeze(a, {1}) * row);
  }
  const Formula column = unsqueeze(g, {g.rank()});
  c.set(0, column * b);
  if (c.wants(1)) c.set(1, squeeze(matmul(matrix_transpose(a), column), {a.rank() - 1}));
}

/// alpha * a' * b', where a' and b' are transposed as stated.
Formula product(C& c, Formula a, bool transposes_a, Formula b, bool transposes_b) {
  return c.make(
      "Gemm", {a, b},
      {{"alpha", c.number("alpha", 1)}, {"transA", int64_t{transposes_a}}, {"transB", int64_t{transposes_b}}});
}

void gemm_rule(C& c) {
  const Formula a = c.x(0), b = c.x(1), g = c.g();
  const bool ta = c.integer("transA", 0) != 0, tb = c.integer("transB", 0) != 0;
  if (c.wants(0)) c.set(0, ta ? product(c, b, tb, g, true) : product(c, g, false, b, !tb));
  if (c.wants(1)) c.set(1, tb ? product(c, g, true, a, ta) : product(c, a, !ta, g, false));
  const double beta = c.number("beta", 1);
  if (c.wants(2)) c.set(2, beta == 1 ? g : g * beta);
}

using Labels = Equation::Labels;

/// Writes labels as letters. A dimension of an ellipsis gets an unused letter.
class Letters {
 public:
  explicit Letters(const Equation& equation) {
    std::set<int> used;
    for (const Labels& term : equation.operands) used.insert(term.begin(), term.end());
    for (char ch = 'a'; ch <= 'z'; ++ch)
      if (used.count(ch) == 0) free_ += ch;
  }
  std::string text(const Labels& term) const {
    std::string out;
    for (int label : term) out += label >= 0 ? static_cast<char>(label) : free_.at(static_cast<size_t>(-1 - label));
    return out;
  }

 private:
  std::string free_;
};

bool has(const Labels& term, int label) { return std::find(term.begin(), term.end(), label) != term.end(); }

/// Extends the gradient over the labels `remaining` to all labels of the term. A label that only this term has becomes
/// an axis of extent 1, and a repeated label becomes a diagonal.
Formula over_term(Formula dx, const Labels& remaining, const Labels& term, Formula x) {
  FormulaWriter& w = *x.writer;
  std::vector<Formula> shape;
  for (size_t i = 0; i < term.size(); ++i) {
    const bool is_first = std::find(term.begin(), term.end(), term[i]) - term.begin() == static_cast<int64_t>(i);
    const auto at = std::find(remaining.begin(), remaining.end(), term[i]) - remaining.begin();
    shape.push_back(is_first && has(remaining, term[i]) ? extents_of(dx, at, at + 1) : w.ints({1}));
  }
  if (shape.empty()) return dx;
  dx = reshape(dx, join(shape, 0));
  for (size_t i = 0; i < term.size(); ++i) {
    const auto first = static_cast<size_t>(std::find(term.begin(), term.end(), term[i]) - term.begin());
    if (first == i) continue;
    const Formula extent = extents_of(x, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
    std::vector<Formula> diagonal(term.size(), w.ints({1}));
    diagonal[i] = diagonal[first] = extent;
    dx = dx * reshape(w.make("EyeLike", {zeros(x.dtype(), join({extent, extent}, 0))}), join(diagonal, 0));
  }
  return dx;
}

/// The gradient with respect to one operand is an Einsum of the other operands and g, over the labels that they have.
void einsum_rule(C& c) {
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < c.operands(); ++i) ranks.push_back(c.x(i).rank());
  const Equation equation = read_equation(c.node(), ranks);
  const Letters letters(equation);
  for (size_t k = 0; k < c.operands(); ++k) {
    if (!c.wants(k)) continue;
    const Labels& term = equation.operands[k];
    std::vector<Formula> values = {c.g()};
    std::string text = letters.text(equation.output);
    Labels seen = equation.output, remaining;
    for (size_t i = 0; i < c.operands(); ++i) {
      if (i == k) continue;
      const Labels& other = equation.operands[i];
      values.push_back(c.x(i));
      text += "," + letters.text(other);
      seen.insert(seen.end(), other.begin(), other.end());
    }
    for (int label : term)
      if (has(seen, label) && !has(remaining, label)) remaining.push_back(label);
    text += "->" + letters.text(remaining);
    c.set(k, over_term(c.make("Einsum", values, {{"equation", text}}), remaining, term, c.x(k)));
  }
}

constexpr GradientRow kRows[] = {{"Attention", gradient_of_expansion},
                                 {"FlexAttention", gradient_of_expansion, "ai.onnx.preview"},
                                 {"LinearAttention", gradient_of_expansion},
                                 {"RotaryEmbedding", gradient_of_expansion},
                                 {"Einsum", einsum_rule},
                                 {"Gemm", gemm_rule},
                                 {"MatMul", matmul_rule}};

}  // namespace

std::span<const GradientRow> product_gradients() { return kRows; }

}  // namespace gcg
