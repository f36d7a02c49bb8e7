#include "codegen/cpu/conv_tile.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <numeric>

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

constexpr int64_t block = 16;
constexpr uint64_t float_bytes = 4;
constexpr int64_t unrolled_steps = 4;  // k steps of one loop iteration

llvm::Value* zero(FunctionBuilder& f, int64_t lanes) {
  return llvm::Constant::getNullValue(f.type(DType::f32, static_cast<int>(lanes)));
}

/// Emits the reduction of one dense tile.
class DenseTile {
  using Value = llvm::Value;

 public:
  DenseTile(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
            const TileShape& shape, int64_t vectors, const TilePlace& place)
      : f_(f), conv_(conv), plan_(plan), layout_(layout), shape_(shape), vectors_(vectors), place_(place) {
    // A tile of few accumulators would wait for the latency of its multiply-adds: it gets several sets of them, one per
    // k step in turn.
    const int64_t accumulators = shape.pixels() * vectors;
    const int64_t enough = vectors == 1 ? 5 : 8;  // ten of one vector spill where borders carry others along
    while (sets_ < 4 && accumulators * sets_ < enough &&
           accumulators * sets_ * 2 + vectors + 1 <= f.target().vector_registers)
      sets_ *= 2;
  }

  Values emit() {
    Values sums(static_cast<size_t>(sets_ * shape_.pixels() * vectors_), zero(f_, plan_.lanes));
    std::copy(place_.sums.begin(), place_.sums.end(), sums.begin());
    sums = loop(f_, place_.units, 1, sums,
                [&](llvm::Value* ic, const Values& s) { return channel_block(ic, s); });
    return fold_sets(std::move(sums));
  }

 private:
  /// A rectangle of the tile.
  struct Pixels {
    int64_t first_row, last_row, first_column, last_column;
  };

  int64_t weights_per_column() const { return layout_.channels * layout_.weight_columns; }

  Values channel_block(llvm::Value* ic, Values initial) {
    Value* input = float_address(f_, place_.input, f_.ir().CreateMul(ic, layout_.block, "", true, true));
    channels_ = channels_of(ic);
    return loop(f_, place_.kd, 1, std::move(initial), [&](Value* kd, const Values& sums) {
      Value* plane = f_.ir().CreateMul(times(f_, kd, conv_.dilation_d), layout_.plane, "", true, true);
      Value* number = f_.ir().CreateAdd(times(f_, ic, conv_.kernel_d), kd, "", true, true);
      return kernel_plane(number, float_address(f_, input, plane), sums);
    });
  }

  /// `number`: of this plane of the kernel in the panel.
  Values kernel_plane(Value* number, Value* input, Values sums) {
    Value* first_row = times(f_, number, conv_.kernel_h);
    auto kernel_rows = [&](ValueRange range, const Pixels& pixels) {
      sums = loop(f_, range, 1, std::move(sums), [&](Value* kh, const Values& s) {
        Value* step =
            times(f_, f_.ir().CreateAdd(first_row, kh, "", true, true), conv_.kernel_w * weights_per_column());
        Value* row = f_.ir().CreateMul(times(f_, kh, conv_.dilation_h), layout_.row, "", true, true);
        if (place_.prefetch) prefetch(float_address(f_, place_.prefetch, step));
        return kernel_row(float_address(f_, input, row), float_address(f_, place_.weights, step), pixels, s);
      });
    };
    const Pixels all{0, shape_.rows.positions, 0, shape_.columns.positions};
    if (place_.kh) kernel_rows(*place_.kh, all);
    for (const KernelTaps& t : shape_.rows.taps)
      kernel_rows({f_.i64(t.tap), f_.i64(t.tap + t.count)}, {t.first, t.last, all.first_column, all.last_column});
    return sums;
  }

  /// Channels of block `ic` that exist; the rest of the block may hold anything.
  llvm::Value* channels_of(llvm::Value* ic) {
    if (layout_.channels == 1) return f_.i64(1);
    const int64_t channels = conv_.packing().inputs;
    if (channels % block == 0) return f_.i64(block);
    llvm::Value* left = f_.ir().CreateSub(f_.i64(channels), times(f_, ic, block), "", true, true);
    return f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, f_.i64(block));
  }

  void prefetch(llvm::Value* address) {
    const int64_t line = 16,
                  apart = plan_.group_blocks * block == layout_.weight_columns ? line : layout_.weight_columns;
    for (int64_t kw = 0; kw < conv_.kernel_w; ++kw)
      for (int64_t i = 0; i < plan_.prefetch_lines; ++i)
        f_.prefetch(float_address(f_, address, f_.i64(kw * weights_per_column() + i * apart)), 2);
  }

  Values kernel_row(Value* input, Value* weights, Pixels pixels, Values sums) {
    if (place_.kw) return column_loop(*place_.kw, input, weights, pixels, std::move(sums));
    for (const KernelTaps& t : shape_.columns.taps) {
      pixels.first_column = t.first, pixels.last_column = t.last;
      const bool seamless = t.count == 1 || conv_.dilation_w == 1;
      if (seamless && layout_.channels == block && conv_.packing().inputs % block == 0) {
        Value* x = float_address(f_, input, f_.i64(t.tap * conv_.dilation_w * block));
        Value* w = float_address(f_, weights, f_.i64(t.tap * weights_per_column()));
        sums = k_loop(f_.i64(t.count * block), 1, x, w, pixels, std::move(sums));
      } else {
        sums = column_loop({f_.i64(t.tap), f_.i64(t.tap + t.count)}, input, weights, pixels, std::move(sums));
      }
    }
    return sums;
  }

  Values column_loop(ValueRange range, Value* input, Value* weights, const Pixels& pixels, Values sums) {
    if (layout_.channels == 1) {  // neighbouring columns are the k steps
      Value* x = float_address(f_, input, times(f_, range.begin, conv_.dilation_w));
      Value* w = float_address(f_, weights, times(f_, range.begin, layout_.weight_columns));
      Value* count = f_.ir().CreateSub(range.end, range.begin, "", true, true);
      return k_loop(count, conv_.dilation_w, x, w, pixels, std::move(sums));
    }
    return loop(f_, range, 1, std::move(sums), [&](Value* kw, const Values& s) {
      Value* x = float_address(f_, input, times(f_, kw, conv_.dilation_w * layout_.channels));
      return k_loop(channels_, 1, x, float_address(f_, weights, times(f_, kw, weights_per_column())), pixels, s);
    });
  }

  /// `count` k steps: the input advances by `x_step` elements, the weights by one row. Unrolled, since loop control
  /// competes with multiply-adds for ports.
  Values k_loop(Value* count, int64_t x_step, Value* x, Value* w, const Pixels& pixels, Values sums) {
    auto steps = [&](llvm::Value* k, int64_t n, Values s) {
      llvm::Value* xk = opaque(float_address(f_, x, times(f_, k, x_step)));
      llvm::Value* wk = opaque(float_address(f_, w, times(f_, k, layout_.weight_columns)));
      for (int64_t i = 0; i < n; ++i)
        k_step(float_address(f_, xk, f_.i64(i * x_step)), float_address(f_, wk, f_.i64(i * layout_.weight_columns)),
               pixels, i % sets_, s);
      return s;
    };
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
    const int64_t unroll = known ? unrolled_steps : std::gcd(unrolled_steps, place_.kw ? 1 : conv_.packing().inputs);
    llvm::Value* whole = known ? f_.i64(known->getSExtValue() / unroll * unroll) : count;
    sums = loop(f_, {f_.i64(0), whole}, unroll, std::move(sums),
                [&](llvm::Value* k, const Values& s) { return steps(k, unroll, s); });
    return known ? steps(whole, known->getSExtValue() % unroll, std::move(sums)) : sums;
  }

  /// The same address as a value that nothing sees through: LLVM's loop strength reduction would otherwise weigh some
  /// sixty addresses against each other, and take four times as long as everything else.
  Value* opaque(Value* address) {
    auto* type = llvm::FunctionType::get(address->getType(), {address->getType()}, false);
    return f_.ir().CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false), address);
  }

  void k_step(Value* x, Value* w, const Pixels& pixels, int64_t set, Values& sums) {
    fence(f_, sums);
    Values weights;
    for (int64_t v = 0; v < vectors_; ++v)
      weights.push_back(load_vector(f_, float_address(f_, w, f_.i64(v * plan_.lanes)), plan_.lanes));
    for (int64_t row = pixels.first_row; row < pixels.last_row; ++row) {
      Value* in_row = row == 0 ? x : float_address(f_, x, times(f_, layout_.row, row * conv_.stride_h));
      for (int64_t column = pixels.first_column; column < pixels.last_column; ++column) {
        Value* place = float_address(f_, in_row, f_.i64(column * conv_.stride_w * layout_.channels));
        Value* input = f_.splat(f_.ir().CreateAlignedLoad(f_.ir().getFloatTy(), place, llvm::Align(4)),
                                static_cast<int>(plan_.lanes));
        const int64_t first = (set * shape_.pixels() + row * shape_.columns.positions + column) * vectors_;
        for (int64_t v = 0; v < vectors_; ++v) {
          Value*& sum = sums[static_cast<size_t>(first + v)];
          sum = multiply_add(f_, input, weights[static_cast<size_t>(v)], sum);
        }
      }
    }
  }

  Values fold_sets(Values sums) {
    const auto tile = static_cast<size_t>(shape_.pixels() * vectors_);
    for (size_t i = tile; i < sums.size(); ++i) sums[i % tile] = f_.ir().CreateFAdd(sums[i % tile], sums[i]);
    sums.resize(tile);
    return sums;
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  const ConvLayout& layout_;
  const TileShape& shape_;
  const int64_t vectors_;
  const TilePlace& place_;
  int64_t sets_ = 1;
  llvm::Value* channels_ = nullptr;
};

/// May kernel column `kw` be read for pixel `p`?
bool inside(const TileShape& shape, int64_t kw, int64_t p) {
  return std::any_of(shape.columns.taps.begin(), shape.columns.taps.end(), [&](const KernelTaps& t) {
    return t.tap <= kw && kw < t.tap + t.count && t.first <= p && p < t.last;
  });
}

}  // namespace

llvm::Value* times(FunctionBuilder& f, llvm::Value* value, int64_t factor) {
  return f.ir().CreateMul(value, f.i64(factor), "", true, true);
}

llvm::Value* multiply_add(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* sum) {
  return f.ir().CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
}

llvm::Value* load_vector(FunctionBuilder& f, llvm::Value* address, int64_t lanes) {
  return f.ir().CreateAlignedLoad(f.type(DType::f32, static_cast<int>(lanes)), address,
                                  llvm::Align(float_bytes));
}

Values loop(FunctionBuilder& f, ValueRange range, int64_t step, Values initial,
            const std::function<Values(llvm::Value*, const Values&)>& body) {
  auto* begin = llvm::dyn_cast<llvm::ConstantInt>(range.begin);
  auto* end = llvm::dyn_cast<llvm::ConstantInt>(range.end);
  if (begin && end && begin->getSExtValue() >= end->getSExtValue()) return initial;
  if (begin && end && begin->getSExtValue() + step == end->getSExtValue()) return body(range.begin, initial);
  return f.for_loop(range.begin, range.end, f.i64(step), initial, body);
}

void fence(FunctionBuilder& f, Values& sums) {
  std::vector<llvm::Type*> types;
  std::string constraints;
  for (llvm::Value* sum : sums) {
    types.push_back(sum->getType());
    constraints += f.target().is_x86() ? "=v," : "=w,";
  }
  for (size_t i = 0; i < sums.size(); ++i) constraints += concat(i, ",");
  auto* type = llvm::FunctionType::get(llvm::StructType::get(f.context(), types), types, false);
  auto* code = llvm::InlineAsm::get(type, "", constraints + "~{memory}", /*hasSideEffects=*/true);
  llvm::Value* fenced = f.ir().CreateCall(code, sums);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = f.ir().CreateExtractValue(fenced, static_cast<unsigned>(i));
}

llvm::Value* float_address(FunctionBuilder& f, llvm::Value* base, llvm::Value* offset) {
  return f.ir().CreateGEP(f.ir().getFloatTy(), base, offset);
}

ConvLayout conv_layout(FunctionBuilder& f, const ConvKernel& conv) {
  ConvLayout layout;
  layout.channels = conv.input_plain ? 1 : block;
  const int64_t blocks = (conv.in_channels + layout.channels - 1) / layout.channels;
  const Dim row = conv.in_width * Dim(layout.channels);
  const Dim plane = row * conv.in_height, volume = plane * conv.in_depth;
  layout.row = f.dim(row);
  layout.plane = f.dim(plane);
  layout.block = f.dim(volume);
  layout.image = f.dim(volume * Dim(blocks));
  layout.weight_columns = conv.packing().columns();
  return layout;
}

Values reduce_dense(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
                    const TileShape& shape, int64_t vectors, const TilePlace& place) {
  return DenseTile(f, conv, plan, layout, shape, vectors, place).emit();
}

Values reduce_depthwise(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
                        const TileShape& shape, const TilePlace& place) {
  const Values none(static_cast<size_t>(shape.pixels()), zero(f, plan.lanes));
  auto vector_at = [&](llvm::Value* base, llvm::Value* offset) {
    return load_vector(f, float_address(f, base, offset), plan.lanes);
  };
  auto kernel_row = [&](llvm::Value* plane_input, llvm::Value* first_row, llvm::Value* kh, const Values& sums) {
    llvm::Value* input =
        float_address(f, plane_input, f.ir().CreateMul(times(f, kh, conv.dilation_h), layout.row, "", true, true));
    llvm::Value* row = f.ir().CreateAdd(first_row, kh, "", true, true);
    llvm::Value* weights = float_address(f, place.weights, times(f, row, conv.kernel_w * block));
    if (place.kw) {
      return loop(f, *place.kw, 1, sums, [&](llvm::Value* kw, const Values& s) -> Values {
        llvm::Value* x = vector_at(input, times(f, kw, conv.dilation_w * block));
        return {multiply_add(f, x, vector_at(weights, times(f, kw, block)), s[0])};
      });
    }
    // Each input vector is loaded once for all the taps that meet it.
    Values next = sums, taps(static_cast<size_t>(conv.kernel_w), nullptr);
    const int64_t columns = (shape.pixels() - 1) * conv.stride_w + (conv.kernel_w - 1) * conv.dilation_w + 1;
    for (int64_t column = 0; column < columns; ++column) {
      llvm::Value* x = nullptr;
      for (int64_t kw = 0; kw < conv.kernel_w; ++kw) {
        const int64_t distance = column - kw * conv.dilation_w, p = distance / conv.stride_w;
        if (distance < 0 || distance % conv.stride_w != 0 || p >= shape.pixels() || !inside(shape, kw, p)) continue;
        if (!x) x = vector_at(input, f.i64(column * block));
        llvm::Value*& tap = taps[static_cast<size_t>(kw)];
        if (!tap) tap = vector_at(weights, f.i64(kw * block));
        next[static_cast<size_t>(p)] = multiply_add(f, x, tap, next[static_cast<size_t>(p)]);
      }
    }
    return next;
  };
  return loop(f, place.kd, 1, none, [&](llvm::Value* kd, const Values& sums) {
    llvm::Value* plane = f.ir().CreateMul(times(f, kd, conv.dilation_d), layout.plane, "", true, true);
    llvm::Value *input = float_address(f, place.input, plane), *first_row = times(f, kd, conv.kernel_h);
    return loop(f, *place.kh, 1, sums,
                [&](llvm::Value* kh, const Values& s) { return kernel_row(input, first_row, kh, s); });
  });
}

}  // namespace gcg::cpu
