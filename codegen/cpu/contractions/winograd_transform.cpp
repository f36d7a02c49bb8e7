#include "codegen/cpu/contractions/winograd_transform.h"

#include <cmath>

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {
namespace {

using Value = llvm::Value;
using Values = FunctionBuilder::Values;
using Matrix = WinogradForm::Matrix;

bool same(double a, double b) { return std::abs(a - b) < 1e-9; }

/// Products of a matrix with vectors. Points come as a number and its negative, so rows (of the input's matrix) or
/// columns (of the output's) come in pairs that differ in signs: what they have in common is computed once.
class MatrixProduct {
 public:
  MatrixProduct(FunctionBuilder& f, const Matrix& m) : f_(f), m_(m) {}

  Values operator()(const Values& x) {
    Values y(m_.size());
    const Values in = paired_columns(x);
    for (size_t i = 0; i < m_.size(); ++i) {
      if (!paired_rows(i)) {
        y[i] = sum(i, in, [](size_t) { return true; });
        continue;
      }
      Value* even = sum(i, in, [&](size_t k) { return same(m_[i][k], m_[i + 1][k]); });
      Value* odd = sum(i, in, [&](size_t k) { return !same(m_[i][k], m_[i + 1][k]); });
      y[i] = f_.ir().CreateFAdd(even, odd);
      y[i + 1] = f_.ir().CreateFSub(even, odd);
      ++i;
    }
    return y;
  }

 private:
  /// Do rows i and i + 1 differ in the signs of some elements, in more than one?
  bool paired_rows(size_t i) const {
    if (i + 1 >= m_.size() || m_.size() < m_[0].size()) return false;
    size_t alike = 0, opposite = 0;
    for (size_t k = 0; k < m_[i].size(); ++k) {
      if (!same(std::abs(m_[i][k]), std::abs(m_[i + 1][k]))) return false;
      if (same(m_[i][k], 0)) continue;
      ++(same(m_[i][k], m_[i + 1][k]) ? alike : opposite);
    }
    return alike > 0 && opposite > 0;
  }

  bool paired_columns(size_t k) const {
    if (k + 1 >= m_[0].size() || m_.size() == m_[0].size()) return false;
    bool differ = false;
    for (const auto& row : m_) {
      if (!same(std::abs(row[k]), std::abs(row[k + 1]))) return false;
      differ = differ || !same(row[k], row[k + 1]);
    }
    return differ;
  }

  /// x, but of paired columns their sum and their difference; `taken_` says which it is.
  Values paired_columns(const Values& x) {
    Values out = x;
    pair_.assign(x.size(), false);
    for (size_t k = 0; k + 1 < x.size(); ++k) {
      if (!paired_columns(k)) continue;
      out[k] = f_.ir().CreateFAdd(x[k], x[k + 1]);
      out[k + 1] = f_.ir().CreateFSub(x[k], x[k + 1]);
      pair_[k] = true;
      ++k;
    }
    return out;
  }

  template <class Takes>
  Value* sum(size_t i, const Values& x, const Takes& takes) {
    Value* sum = nullptr;
    for (size_t k = 0; k < x.size(); ++k) {
      const bool second = k > 0 && pair_[k - 1];
      const size_t first = second ? k - 1 : k;
      if (same(m_[i][k], 0) || !takes(k)) continue;
      if ((second || pair_[k]) && same(m_[i][first], m_[i][first + 1]) == second) continue;
      sum = add(sum, m_[i][first], x[k]);
    }
    return sum == nullptr ? llvm::Constant::getNullValue(x[0]->getType()) : sum;
  }

  Value* add(Value* sum, double factor, Value* x) {
    if (same(factor, 1)) return sum == nullptr ? x : f_.ir().CreateFAdd(sum, x);
    if (same(factor, -1)) return sum == nullptr ? f_.ir().CreateFNeg(x) : f_.ir().CreateFSub(sum, x);
    Value* number = f_.constant_like(x, factor);
    return sum == nullptr ? f_.ir().CreateFMul(number, x) : multiply_add(f_, number, x, sum);
  }

  FunctionBuilder& f_;
  const Matrix& m_;
  std::vector<bool> pair_;  // element k and the next are a sum and a difference
};

}  // namespace

void transform_tile(FunctionBuilder& f, const Matrix& m, const std::function<Value*(size_t, size_t)>& load,
                    const std::function<void(size_t, size_t, Value*)>& store) {
  const size_t side = m[0].size(), out = m.size();
  MatrixProduct product(f, m);
  std::vector<Values> half(out, Values(side));
  for (size_t j = 0; j < side; ++j) {
    Values column;
    for (size_t i = 0; i < side; ++i) column.push_back(load(i, j));
    column = product(column);
    for (size_t i = 0; i < out; ++i) half[i][j] = column[i];
  }
  for (size_t i = 0; i < out; ++i) {
    const Values row = product(half[i]);
    for (size_t j = 0; j < out; ++j) store(i, j, row[j]);
  }
}

}  // namespace gcg::cpu
