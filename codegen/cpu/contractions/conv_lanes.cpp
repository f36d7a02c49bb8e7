// The reduction of a register tile whose groups are narrower than a channel block, or lie across blocks. A vector of
// output channels then holds lanes of several groups. Each lane multiplies channels of its own group alone, so that no
// value of another group (an infinity) reaches it.
//
// There are two ways to bring the k-th channels of all groups into the lanes of a vector. If the groups' widths are
// powers of two, the channels that the vector needs may be adjacent. Then they are loaded once, and shuffled for each
// k. Otherwise the k-th channel of each group is broadcast and the lanes select between them.
#include <bit>

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {
namespace {

using Value = llvm::Value;
using Values = FunctionBuilder::Values;

constexpr int64_t block = 16;
constexpr uint64_t float_bytes = 4;

bool power_of_two(int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); }

/// How many input channels the lanes of a vector read. They are adjacent in one block, so one load and a shuffle read
/// them. 0 if this does not hold for every vector.
int64_t shuffled_channels(const ConvPacking& packing, int64_t lanes) {
  const int64_t outputs = packing.group_outputs();
  if (!power_of_two(packing.inputs) || !power_of_two(outputs) || outputs >= lanes) return 0;
  const int64_t channels = lanes / outputs * packing.inputs;
  return channels <= block ? channels : 0;
}

/// The largest number of groups that have lanes in one vector.
int64_t groups_of_vector(const ConvPacking& packing, int64_t lanes) {
  const int64_t outputs = packing.group_outputs();
  if (outputs % lanes == 0) return 1;
  return lanes % outputs == 0 ? lanes / outputs : (lanes - 2) / outputs + 2;
}

class LaneTile {
 public:
  LaneTile(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
           const TileShape& shape, const TilePosition& place)
      : f_(f), conv_(conv), packing_(conv.packing()), plan_(plan), layout_(layout), shape_(shape), place_(place) {}

  Values emit(Value* channel) {
    first_group_ = udiv(channel, packing_.group_outputs());
    groups_ = groups_of_vector(packing_, plan_.lanes);
    if (shuffled_channels(packing_, plan_.lanes) > 0) {
      // A vector past the last channel reads the groups of the previous vector.
      first_group_ = min(first_group_, f_.i64((packing_.groups - 1) / groups_ * groups_));
      return reduce();
    }
    find_boundaries(channel);
    if (groups_ == 1 || plan_.lanes % packing_.group_outputs() == 0) return reduce();
    const int64_t most = groups_;  // a vector has lanes of at most this many groups, but usually of only one
    return f_.if_else(
        f_.ir().CreateICmpSGE(boundary_[0], f_.i64(plan_.lanes)), [&] { return groups_ = 1, reduce(); },
        [&] { return groups_ = most, reduce(); });
  }

 private:
  Value* add(Value* a, Value* b) { return f_.ir().CreateAdd(a, b, "", true, true); }
  Value* udiv(Value* a, int64_t b) { return b == 1 ? a : f_.ir().CreateUDiv(a, f_.i64(b)); }
  Value* min(Value* a, Value* b) { return f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }

  /// Finds, for each group except the first, the lane where its lanes begin.
  void find_boundaries(Value* channel) {
    for (int64_t g = 1; g < groups_; ++g) {
      Value* begin = times(f_, add(first_group_, f_.i64(g)), packing_.group_outputs());
      Value* boundary = plan_.lanes % packing_.group_outputs() == 0 ? f_.i64(g * packing_.group_outputs())
                                                                    : f_.ir().CreateSub(begin, channel, "", true, true);
      boundary_.push_back(boundary);
      Value* lanes = f_.iota(static_cast<int>(plan_.lanes));
      of_group_.push_back(f_.ir().CreateICmpSGE(lanes, f_.splat(boundary, static_cast<int>(plan_.lanes))));
    }
  }

  Values reduce() {
    Values sums(static_cast<size_t>(shape_.pixels()),
                llvm::Constant::getNullValue(f_.type(DType::f32, static_cast<int>(plan_.lanes))));
    return loop(f_, place_.kd, 1, std::move(sums), [&](Value* kd, const Values& of_planes) {
      return loop(f_, *place_.kh, 1, of_planes, [&](Value* kh, const Values& s) {
        Value* row = add(times(f_, kd, conv_.kernel_h), kh);
        Value* offset = add(f_.ir().CreateMul(times(f_, kd, conv_.dilation_d), layout_.plane, "", true, true),
                            f_.ir().CreateMul(times(f_, kh, conv_.dilation_h), layout_.row, "", true, true));
        return kernel_row(word_address(f_, layout_, place_.input, offset), times(f_, row, conv_.kernel_w), s);
      });
    });
  }

  /// `tap`: number of the row's first tap.
  Values kernel_row(Value* input, Value* tap, Values sums) {
    const auto columns = [&](ValueRange range, int64_t first, int64_t last) {
      sums = loop(f_, range, 1, std::move(sums), [&](Value* kw, const Values& s) {
        Value* weights = weight_address(f_, layout_, place_.weights, times(f_, add(tap, kw), packing_.unit() * block));
        return channels(word_address(f_, layout_, input, times(f_, kw, conv_.dilation_w * block)), weights, first, last,
                        s);
      });
    };
    if (place_.kw)
      columns(*place_.kw, 0, 1);
    else
      for (const KernelTaps& t : shape_.columns.taps)
        columns({f_.i64(t.tap), f_.i64(t.tap + t.count)}, t.first, t.last);
    return sums;
  }

  /// The channels of one tap, for pixels [first, last).
  Values channels(Value* input, Value* weights, int64_t first, int64_t last, Values sums) {
    const int64_t shuffled = shuffled_channels(packing_, plan_.lanes);
    if (shuffled > 0) {
      Value* x = channel_address(input, times(f_, first_group_, packing_.inputs));
      for (int64_t k = 0; k < packing_.inputs; ++k)
        step(weights, f_.i64(k), first, last, sums, [&](int64_t pixel) { return shuffle(x, pixel, k, shuffled); });
      return sums;
    }
    return loop(f_, {f_.i64(0), f_.i64(packing_.inputs)}, 1, std::move(sums), [&](Value* k, Values s) {
      Values places;
      for (int64_t g = 0; g < groups_; ++g) {  // lanes past the last channel belong to no group
        Value* group = min(add(first_group_, f_.i64(g)), f_.i64(packing_.groups - 1));
        places.push_back(channel_address(input, add(times(f_, group, packing_.inputs), k)));
      }
      step(weights, k, first, last, s, [&](int64_t pixel) { return chosen(places, pixel); });
      return s;
    });
  }

  template <class Channel>
  void step(Value* weights, Value* k, int64_t first, int64_t last, Values& sums, Channel channel) {
    fence(f_.ir(), sums);
    Value* w = load_weights(f_, layout_, weight_address(f_, layout_, weights, times(f_, k, block)), plan_.lanes);
    for (int64_t pixel = first; pixel < last; ++pixel) {
      Value*& sum = sums[static_cast<size_t>(pixel)];
      sum = multiply_add(f_, channel(pixel), w, sum);
    }
  }

  /// Address of a channel of the first pixel. `input`: the address of channel 0.
  Value* channel_address(Value* input, Value* channel) {
    Value* lane = f_.ir().CreateAnd(channel, f_.i64(block - 1));
    Value* offset = f_.ir().CreateMul(f_.ir().CreateLShr(channel, f_.i64(4)), layout_.block, "", true, true);
    return word_address(f_, layout_, input, add(offset, lane));
  }

  Value* pixel_address(Value* x, int64_t pixel) {
    return word_address(f_, layout_, x, f_.i64(pixel * conv_.stride_w * block));
  }

  Value* shuffle(Value* x, int64_t pixel, int64_t k, int64_t channels) {
    Value* loaded = f_.ir().CreateAlignedLoad(f_.type(DType::f32, static_cast<int>(channels)), pixel_address(x, pixel),
                                              llvm::Align(float_bytes));
    if (channels == 1) return f_.splat(loaded, static_cast<int>(plan_.lanes));
    std::vector<int> from;
    for (int64_t lane = 0; lane < plan_.lanes; ++lane)
      from.push_back(static_cast<int>(lane / packing_.group_outputs() * packing_.inputs + k));
    return f_.ir().CreateShuffleVector(loaded, from);
  }

  Value* chosen(const Values& places, int64_t pixel) {
    const auto broadcast = [&](size_t g) {
      Value* scalar =
          f_.ir().CreateAlignedLoad(f_.ir().getFloatTy(), pixel_address(places[g], pixel), llvm::Align(float_bytes));
      return f_.splat(scalar, static_cast<int>(plan_.lanes));
    };
    Value* x = broadcast(0);
    for (size_t g = 1; g < places.size(); ++g) x = f_.ir().CreateSelect(of_group_[g - 1], broadcast(g), x);
    return x;
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPacking packing_;
  const ConvPlan& plan_;
  const ConvLayout& layout_;
  const TileShape& shape_;
  const TilePosition& place_;
  Value* first_group_ = nullptr;  // first group with lanes in the vector
  int64_t groups_ = 1;
  Values boundary_, of_group_;  // for groups except the first: their first lane, and the mask of lanes from there on
};

}  // namespace

Values reduce_by_lane(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan, const ConvLayout& layout,
                      const TileShape& shape, const TilePosition& place, Value* channel) {
  return LaneTile(f, conv, plan, layout, shape, place).emit(channel);
}

}  // namespace gcg::cpu
