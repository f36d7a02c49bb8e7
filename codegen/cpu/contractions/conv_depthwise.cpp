// The reduction of a depthwise tile: one vector of channels, each with its own kernel.
#include <algorithm>

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {
namespace {

using Value = llvm::Value;
using Values = FunctionBuilder::Values;

constexpr int64_t block = 16;

/// Loads a vector of bytes as VNNI groups, whose bytes after the first are multiplied by zero.
llvm::Value* load_bytes(FunctionBuilder& f, llvm::Value* address, int64_t lanes, bool is_signed) {
  auto* bytes = llvm::FixedVectorType::get(f.ir().getInt8Ty(), static_cast<unsigned>(lanes));
  llvm::Value* loaded = f.ir().CreateAlignedLoad(bytes, address, llvm::Align(1));
  llvm::Type* words = llvm::FixedVectorType::get(f.ir().getInt32Ty(), static_cast<unsigned>(lanes));
  return is_signed ? f.ir().CreateSExt(loaded, words) : f.ir().CreateZExt(loaded, words);
}

/// True if kernel column `kw` may be read for pixel `p`.
bool inside(const TileShape& shape, int64_t kw, int64_t p) {
  return std::any_of(shape.columns.taps.begin(), shape.columns.taps.end(), [&](const KernelTaps& t) {
    return t.tap <= kw && kw < t.tap + t.count && t.first <= p && p < t.last;
  });
}

class DepthwiseTile {
 public:
  DepthwiseTile(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
                const TileShape& shape, const TilePosition& place)
      : f_(f), conv_(conv), plan_(plan), layout_(layout), shape_(shape), place_(place), dot_(f.ir(), plan.multiply) {}

  Values emit() {
    const Values none(static_cast<size_t>(shape_.pixels()), zero_sum(f_, plan_));
    return loop(f_, place_.kd, 1, none, [&](Value* kd, const Values& sums) {
      Value* plane = f_.ir().CreateMul(times(f_, kd, conv_.dilation_d), layout_.plane, "", true, true);
      Value *input = word_address(f_, layout_, place_.input, plane), *first_row = times(f_, kd, conv_.kernel_h);
      return loop(f_, *place_.kh, 1, sums,
                  [&](Value* kh, const Values& s) { return kernel_row(input, first_row, kh, s); });
    });
  }

 private:
  Value* input_at(Value* base, Value* offset) {
    Value* address = word_address(f_, layout_, base, offset);
    return conv_.bytes ? load_bytes(f_, address, plan_.lanes, false) : load_vector(f_, address, plan_.lanes);
  }

  Value* weights_at(Value* base, Value* offset) {
    Value* address = weight_address(f_, layout_, base, offset);
    return conv_.bytes ? load_bytes(f_, address, plan_.lanes, true) : load_weights(f_, layout_, address, plan_.lanes);
  }

  Values kernel_row(Value* plane_input, Value* first_row, Value* kh, const Values& sums) {
    Value* input = word_address(f_, layout_, plane_input,
                                f_.ir().CreateMul(times(f_, kh, conv_.dilation_h), layout_.row, "", true, true));
    Value* row = f_.ir().CreateAdd(first_row, kh, "", true, true);
    Value* weights = weight_address(f_, layout_, place_.weights, times(f_, row, conv_.kernel_w * block));
    if (place_.column) return clipped_columns(input, weights, sums);
    if (place_.kw) return one_pixel(input, weights, sums);
    return whole_row(input, weights, sums);
  }

  Values clipped_columns(Value* input, Value* weights, const Values& sums) {
    return loop(f_, *place_.kw, 1, sums, [&](Value* kw, const Values& s) {
      Value* w = weights_at(weights, times(f_, kw, block));
      const Values x = clipped_places(f_, conv_, layout_, shape_, place_, input, kw);
      Values next = s;
      for (size_t p = 0; p < next.size(); ++p) next[p] = dot_.add(input_at(x[p], f_.i64(0)), w, next[p]);
      return next;
    });
  }

  Values one_pixel(Value* input, Value* weights, const Values& sums) {
    return loop(f_, *place_.kw, 1, sums, [&](Value* kw, const Values& s) -> Values {
      Value* x = input_at(input, times(f_, kw, conv_.dilation_w * block));
      return {dot_.add(x, weights_at(weights, times(f_, kw, block)), s[0])};
    });
  }

  /// Reduces a row in parts of so few taps that their weights stay in registers.
  Values whole_row(Value* input, Value* weights, Values sums) {
    for (int64_t first = 0; first < conv_.kernel_w; first += plan_.taps_together) {
      if (first > 0) {
        fence(f_.ir(), sums);
        input = opaque(f_, input, true);
        weights = opaque(f_, weights, true);
      }
      add_taps(input, weights, first, std::min(first + plan_.taps_together, conv_.kernel_w), sums);
    }
    return sums;
  }

  /// Loads each input vector once for all taps that use it.
  void add_taps(Value* input, Value* weights, int64_t first, int64_t end, Values& sums) {
    const int64_t columns = (shape_.pixels() - 1) * conv_.stride_w + (conv_.kernel_w - 1) * conv_.dilation_w + 1;
    Values taps(static_cast<size_t>(conv_.kernel_w), nullptr);
    for (int64_t column = 0; column < columns; ++column) {
      Value* x = nullptr;
      for (int64_t kw = first; kw < end; ++kw) {
        const int64_t distance = column - kw * conv_.dilation_w, p = distance / conv_.stride_w;
        if (distance < 0 || distance % conv_.stride_w != 0 || p >= shape_.pixels() || !inside(shape_, kw, p)) continue;
        if (!x) x = input_at(input, f_.i64(column * block));
        Value*& tap = taps[static_cast<size_t>(kw)];
        if (!tap) tap = weights_at(weights, f_.i64(kw * block));
        Value*& sum = sums[static_cast<size_t>(p)];
        sum = dot_.add(x, tap, sum);
      }
    }
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  const ConvLayout& layout_;
  const TileShape& shape_;
  const TilePosition& place_;
  DotProduct dot_;
};

}  // namespace

Values reduce_depthwise(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
                        const TileShape& shape, const TilePosition& place) {
  return DepthwiseTile(f, conv, plan, layout, shape, place).emit();
}

}  // namespace gcg::cpu
