#include "codegen/cpu/contractions/winograd_transform.h"

#include <cmath>
#include <functional>

#include "codegen/cpu/contractions/conv_tile.h"
#include "compiler/kernel/packing.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using Value = llvm::Value;
using Values = FunctionBuilder::Values;
using Matrix = WinogradVariant::Matrix;

bool same(double a, double b) { return std::abs(a - b) < 1e-9; }

/// Products of a matrix with vectors. Points come as a number and its negative. So rows (of the input's matrix) or
/// columns (of the output's) come in pairs that differ only in signs. Their common part is computed once.
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
  /// True if rows i and i + 1 differ in the signs of at least two elements.
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

  /// x with paired columns replaced by their sum and their difference; `pair_` marks the pairs.
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
  std::vector<bool> pair_;  // True if elements k and k + 1 are a sum and a difference
};

/// m * x * transposed m.
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

/// Emits the function of input_transform.
class InputTransform {
 public:
  InputTransform(FunctionBuilder& f, const WinogradVariant& variant, int64_t lanes, llvm::Function& function)
      : f_(f),
        variant_(variant),
        lanes_(lanes),
        image_(function.getArg(0)),
        to_(function.getArg(1)),
        row_(function.getArg(2)),
        column_(function.getArg(3)),
        height_(function.getArg(4)),
        width_(function.getArg(5)),
        units_(function.getArg(6)),
        image_block_(function.getArg(7)),
        to_block_(function.getArg(8)),
        product_(function.getArg(9)) {}

  void emit() {
    const auto within = [&](Value* first, Value* extent) {
      Value* begins = f_.ir().CreateICmpSGE(first, f_.i64(0));
      Value* end = f_.ir().CreateAdd(first, f_.i64(variant_.side()), "", false, true);
      return f_.ir().CreateAnd(begins, f_.ir().CreateICmpSLE(end, extent));
    };
    Value* inner = f_.ir().CreateAnd(within(row_, height_), within(column_, width_));
    f_.if_else(
        inner, [&] { return transform_units({}), Values{}; },
        [&] { return transform_units(elements_inside()), Values{}; });
    f_.ir().CreateRetVoid();
  }

 private:
  Value* mul(Value* a, Value* b) { return f_.ir().CreateMul(a, b, "", false, true); }
  Value* floats(Value* base, Value* offset) { return f_.ir().CreateGEP(f_.ir().getFloatTy(), base, offset); }
  Value* number(size_t n) { return f_.i64(static_cast<int64_t>(n)); }
  size_t place(size_t row, size_t column) const { return row * static_cast<size_t>(variant_.side()) + column; }

  /// The mask of the tile's elements that exist.
  Values elements_inside() {
    Values inside;
    for (int64_t i = 0; i < variant_.side(); ++i)
      for (int64_t j = 0; j < variant_.side(); ++j) {
        Value* r = f_.ir().CreateICmpULT(f_.ir().CreateAdd(row_, f_.i64(i), "", false, true), height_);
        Value* c = f_.ir().CreateICmpULT(f_.ir().CreateAdd(column_, f_.i64(j), "", false, true), width_);
        inside.push_back(f_.ir().CreateAnd(r, c));
      }
    return inside;
  }

  /// `inside`: which elements of the tile exist; empty: all.
  void transform_units(const Values& inside) {
    Value* corner = mul(f_.ir().CreateAdd(mul(row_, width_), column_, "", false, true), f_.i64(kChannelBlock));
    Values rows;
    for (int64_t i = 0; i < variant_.side(); ++i) rows.push_back(mul(width_, f_.i64(i * kChannelBlock)));
    f_.for_loop(f_.i64(0), units_, f_.i64(1), [&](Value* unit) {
      Value* plane = floats(floats(image_, mul(unit, image_block_)), corner);
      Value* to = floats(to_, mul(unit, to_block_));
      f_.for_loop(f_.i64(0), f_.i64(kChannelBlock), f_.i64(lanes_), [&](Value* lane) {
        transform_tile(
            f_, variant_.input,
            [&](size_t row, size_t column) {
              Value* address = floats(floats(plane, rows[row]), number(column * kChannelBlock));
              if (!inside.empty()) address = f_.ir().CreateSelect(inside[place(row, column)], address, zeros(f_));
              return load_vector(f_, floats(address, lane), lanes_);
            },
            [&](size_t row, size_t column, Value* y) {
              Value* at = floats(to, mul(product_, number(place(row, column))));
              store_vector(f_, y, floats(at, lane));
            });
      });
    });
  }

  FunctionBuilder& f_;
  const WinogradVariant& variant_;
  const int64_t lanes_;
  Value *image_, *to_, *row_, *column_, *height_, *width_, *units_, *image_block_, *to_block_, *product_;
};

}  // namespace

llvm::Function* input_transform(FunctionBuilder& f, const WinogradVariant& variant, int64_t lanes) {
  llvm::Type *pointer = f.ir().getPtrTy(), *number = f.ir().getInt64Ty();
  return f.shared_function(concat("winograd_inputs_", variant.tile, "_", lanes),
                           {pointer, pointer, number, number, number, number, number, number, number, number},
                           [&](llvm::Function& function) {
                             function.addParamAttr(1, llvm::Attribute::NoAlias);
                             InputTransform(f, variant, lanes, function).emit();
                           });
}

llvm::Function* output_transform(FunctionBuilder& f, const WinogradVariant& variant, int64_t lanes) {
  llvm::Type *pointer = f.ir().getPtrTy(), *number = f.ir().getInt64Ty();
  return f.shared_function(
      concat("winograd_outputs_", variant.tile, "_", lanes), {pointer, number, pointer}, [&](llvm::Function& function) {
        function.addParamAttr(2, llvm::Attribute::NoAlias);
        const auto floats = [&](llvm::Value* base, llvm::Value* offset) {
          return f.ir().CreateGEP(f.ir().getFloatTy(), base, offset);
        };
        const auto place = [&](size_t row, size_t column, int64_t side) {
          return static_cast<int64_t>(row) * side + static_cast<int64_t>(column);
        };
        transform_tile(
            f, variant.output,
            [&](size_t row, size_t column) {
              llvm::Value* product = f.i64(place(row, column, variant.side()));
              return load_vector(f, floats(function.getArg(0), f.ir().CreateMul(function.getArg(1), product)), lanes);
            },
            [&](size_t row, size_t column, llvm::Value* y) {
              store_vector(f, y, floats(function.getArg(2), f.i64(place(row, column, variant.tile) * lanes)));
            });
        f.ir().CreateRetVoid();
      });
}

}  // namespace gcg::cpu
