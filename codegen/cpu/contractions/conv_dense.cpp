// The reduction of a dense tile: k steps over channels, each a rank-one update of all pixels.
#include <algorithm>
#include <numeric>

#include "codegen/cpu/contractions/conv_tile.h"
#include "compiler/kernel/machine.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

constexpr int64_t block = 16;
constexpr uint64_t word_bytes = 4;
constexpr int64_t unrolled_steps = 4;  // number of k steps in one loop iteration

/// Emits the reduction of one dense tile.
class DenseTile {
  using Value = llvm::Value;

 public:
  DenseTile(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
            const TileShape& shape, int64_t vectors, const TilePosition& place)
      : f_(f),
        conv_(conv),
        plan_(plan),
        layout_(layout),
        shape_(shape),
        vectors_(vectors),
        place_(place),
        dot_(f.ir(), plan.multiply) {
    // A tile with few accumulators would wait for the latency of multiply-adds. It has several sets, one per k step in
    // turn.
    const int64_t accumulators = shape.pixels() * vectors;
    // With one vector, ten accumulators would be spilled, because borders add loop-carried values.
    const int64_t enough = vectors == 1 ? 5 : 8;
    while (sets_ < 4 && accumulators * sets_ < enough &&
           accumulators * sets_ * 2 + vectors + 1 <= f.target().vector_registers)
      sets_ *= 2;
  }

  Values emit() {
    Values sums(static_cast<size_t>(sets_ * shape_.pixels() * vectors_), zero_sum(f_, plan_));
    std::copy(place_.sums.begin(), place_.sums.end(), sums.begin());
    sums = loop(f_, place_.units, 1, sums, [&](llvm::Value* ic, const Values& s) { return channel_block(ic, s); });
    return fold_sets(std::move(sums));
  }

 private:
  /// A rectangle of the tile.
  struct Pixels {
    int64_t first_row, last_row, first_column, last_column;
  };

  int64_t weights_per_column() const { return layout_.channels * layout_.weight_columns; }

  Values channel_block(llvm::Value* ic, Values initial) {
    Value* input = word_address(f_, layout_, place_.input, f_.ir().CreateMul(ic, layout_.block, "", true, true));
    channels_ = channels_of(ic);
    return loop(f_, place_.kd, 1, std::move(initial), [&](Value* kd, const Values& sums) {
      Value* plane = f_.ir().CreateMul(times(f_, kd, conv_.dilation_d), layout_.plane, "", true, true);
      Value* number = f_.ir().CreateAdd(times(f_, ic, conv_.kernel_d), kd, "", true, true);
      return kernel_plane(number, word_address(f_, layout_, input, plane), sums);
    });
  }

  /// `number`: the number of this kernel plane in the panel.
  Values kernel_plane(Value* number, Value* input, Values sums) {
    Value* first_row = times(f_, number, conv_.kernel_h);
    auto kernel_rows = [&](ValueRange range, const Pixels& pixels) {
      sums = loop(f_, range, 1, std::move(sums), [&](Value* kh, const Values& s) {
        Value* step =
            times(f_, f_.ir().CreateAdd(first_row, kh, "", true, true), conv_.kernel_w * weights_per_column());
        Value* row = f_.ir().CreateMul(times(f_, kh, conv_.dilation_h), layout_.row, "", true, true);
        if (place_.prefetch) prefetch(weight_address(f_, layout_, place_.prefetch, step));
        return kernel_row(word_address(f_, layout_, input, row), weight_address(f_, layout_, place_.weights, step),
                          pixels, s);
      });
    };
    const Pixels all{0, shape_.rows.positions, 0, shape_.columns.positions};
    if (place_.kh) kernel_rows(*place_.kh, all);
    for (const KernelTaps& t : shape_.rows.taps)
      kernel_rows({f_.i64(t.tap), f_.i64(t.tap + t.count)}, {t.first, t.last, all.first_column, all.last_column});
    return sums;
  }

  bool whole_blocks() const { return layout_.depth % layout_.channels == 0; }
  /// True if the k steps of a kernel row are neighbouring columns.
  bool steps_over_columns() const { return layout_.channels == 1 || layout_.depth == 1; }

  /// Words of existing channels in block `ic`; the rest of the block may hold anything.
  llvm::Value* channels_of(llvm::Value* ic) {
    if (whole_blocks()) return f_.i64(layout_.channels);
    if (layout_.depth < layout_.channels) return f_.i64(layout_.depth);
    llvm::Value* left = f_.ir().CreateSub(f_.i64(layout_.depth), times(f_, ic, layout_.channels), "", true, true);
    return f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, f_.i64(layout_.channels));
  }

  void prefetch(llvm::Value* address) {
    const int64_t line = kCacheLine / size_of(layout_.weights),
                  apart = plan_.group_blocks * block == layout_.weight_columns ? line : layout_.weight_columns;
    for (int64_t kw = 0; kw < conv_.kernel_w; ++kw)
      for (int64_t i = 0; i < plan_.prefetch_lines; ++i)
        f_.prefetch(weight_address(f_, layout_, address, f_.i64(kw * weights_per_column() + i * apart)), 2);
  }

  Values kernel_row(Value* input, Value* weights, Pixels pixels, Values sums) {
    if (place_.column) return clipped_columns(input, weights, pixels, std::move(sums));
    if (place_.kw) return column_loop(*place_.kw, input, weights, pixels, std::move(sums));
    for (const KernelTaps& t : shape_.columns.taps) {
      pixels.first_column = t.first, pixels.last_column = t.last;
      const bool seamless = t.count == 1 || conv_.dilation_w == 1;
      if (seamless && layout_.channels > 1 && whole_blocks()) {
        Value* x = word_address(f_, layout_, input, f_.i64(t.tap * conv_.dilation_w * layout_.channels));
        Value* w = weight_address(f_, layout_, weights, f_.i64(t.tap * weights_per_column()));
        sums = k_loop(f_.i64(t.count * layout_.channels), {1, layout_.weight_columns}, {x}, w, pixels, std::move(sums));
      } else {
        sums = column_loop({f_.i64(t.tap), f_.i64(t.tap + t.count)}, input, weights, pixels, std::move(sums));
      }
    }
    return sums;
  }

  Values column_loop(ValueRange range, Value* input, Value* weights, const Pixels& pixels, Values sums) {
    if (steps_over_columns()) {
      const Step step{conv_.dilation_w * layout_.channels, weights_per_column()};
      Value* x = word_address(f_, layout_, input, times(f_, range.begin, step.input));
      Value* w = weight_address(f_, layout_, weights, times(f_, range.begin, step.weights));
      Value* count = f_.ir().CreateSub(range.end, range.begin, "", true, true);
      return k_loop(count, step, {x}, w, pixels, std::move(sums));
    }
    return loop(f_, range, 1, std::move(sums), [&](Value* kw, const Values& s) {
      Value* x = word_address(f_, layout_, input, times(f_, kw, conv_.dilation_w * layout_.channels));
      Value* w = weight_address(f_, layout_, weights, times(f_, kw, weights_per_column()));
      return k_loop(channels_, {1, layout_.weight_columns}, {x}, w, pixels, s);
    });
  }

  Values clipped_columns(Value* input, Value* weights, const Pixels& pixels, Values sums) {
    return loop(f_, *place_.kw, 1, std::move(sums), [&](Value* kw, const Values& s) {
      Value* w = weight_address(f_, layout_, weights, times(f_, kw, weights_per_column()));
      return k_loop(channels_, {1, layout_.weight_columns},
                    clipped_places(f_, conv_, layout_, shape_, place_, input, kw), w, pixels, s);
    });
  }

  /// The advance of input and weights in a k step, in words.
  struct Step {
    int64_t input, weights;
  };

  /// Emits `count` k steps from `x`, where the input of the first pixel or of each column begins. Unrolled, because
  /// loop control competes with multiply-adds for ports.
  Values k_loop(Value* count, Step step, const Values& x, Value* w, const Pixels& pixels, Values sums) {
    auto steps = [&](llvm::Value* k, int64_t n, Values s) {
      Values xk;
      if (x.size() == 1) {
        xk.push_back(opaque(f_, word_address(f_, layout_, x[0], times(f_, k, step.input))));
      } else {  // each column's address stays in a register, and one index advances all
        Value* index = opaque(f_, times(f_, k, step.input));
        for (Value* place : x) xk.push_back(word_address(f_, layout_, place, index));
      }
      llvm::Value* wk = opaque(f_, weight_address(f_, layout_, w, times(f_, k, step.weights)));
      for (int64_t i = 0; i < n; ++i)
        k_step(xk, i * step.input, weight_address(f_, layout_, wk, f_.i64(i * step.weights)), pixels, i % sets_, s);
      return s;
    };
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
    const int64_t unroll = known ? unrolled_steps : std::gcd(unrolled_steps, place_.kw ? 1 : layout_.depth);
    llvm::Value* whole_depth = known ? f_.i64(known->getSExtValue() / unroll * unroll) : count;
    sums = loop(f_, {f_.i64(0), whole_depth}, unroll, std::move(sums),
                [&](llvm::Value* k, const Values& s) { return steps(k, unroll, s); });
    return known ? steps(whole_depth, known->getSExtValue() % unroll, std::move(sums)) : sums;
  }

  void k_step(const Values& x, int64_t offset, Value* w, const Pixels& pixels, int64_t set, Values& sums) {
    for (int part = 0; part < dot_.parts(); ++part) {
      fence(f_.ir(), sums);
      Values columns;  // the columns are loaded again for each part, because there are few registers
      for (int64_t v = 0; v < vectors_; ++v)
        columns.push_back(dot_.right(
            load_weights(f_, layout_, weight_address(f_, layout_, w, f_.i64(v * plan_.lanes)), plan_.lanes), part));
      rank_one_updates(x, offset, columns, part, pixels, set, sums);
    }
  }

  void rank_one_updates(const Values& x, int64_t offset, const Values& columns, int part, const Pixels& pixels,
                        int64_t set, Values& sums) {
    for (int64_t row = pixels.first_row; row < pixels.last_row; ++row) {
      for (int64_t column = pixels.first_column; column < pixels.last_column; ++column) {
        const bool by_column = x.size() > 1;
        Value* in_row = word_address(f_, layout_, x[by_column ? static_cast<size_t>(column) : 0], f_.i64(offset));
        if (row > 0) in_row = word_address(f_, layout_, in_row, times(f_, layout_.row, row * conv_.stride_h));
        Value* place =
            by_column ? in_row : word_address(f_, layout_, in_row, f_.i64(column * conv_.stride_w * layout_.channels));
        Value* word = f_.ir().CreateAlignedLoad(layout_.word, place,
                                                llvm::Align(conv_.bytes && !plan_.widens() ? 1 : word_bytes));
        Value* input = dot_.left(f_.splat(word, static_cast<int>(plan_.lanes)), part);
        const int64_t first = (set * shape_.pixels() + row * shape_.columns.positions + column) * vectors_;
        for (int64_t v = 0; v < vectors_; ++v) {
          Value*& sum = sums[static_cast<size_t>(first + v)];
          sum = dot_.add(input, columns[static_cast<size_t>(v)], sum);
        }
      }
    }
  }

  Values fold_sets(Values sums) {
    const auto tile = static_cast<size_t>(shape_.pixels() * vectors_);
    for (size_t i = tile; i < sums.size(); ++i) sums[i % tile] = dot_.add_sums(sums[i % tile], sums[i]);
    sums.resize(tile);
    return sums;
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  const ConvLayout& layout_;
  const TileShape& shape_;
  const int64_t vectors_;
  const TilePosition& place_;
  DotProduct dot_;
  int64_t sets_ = 1;
  llvm::Value* channels_ = nullptr;
};

}  // namespace

Values reduce_dense(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
                    const TileShape& shape, int64_t vectors, const TilePosition& place) {
  return DenseTile(f, conv, plan, layout, shape, vectors, place).emit();
}

}  // namespace gcg::cpu
