// Normalisation over groups of channels, in blocked layout. Lanes are channels, so statistics are computed per channel
// first.
//   mean_c, variance_c = over the positions of channel c    two passes over the activation, lanes side by side
//   mean_g             = mean of mean_c                     over the channels of a group: a few numbers
//   variance_g         = mean of variance_c + (mean_c - mean_g)^2
//   factor_c           = scale / sqrt(variance_g + epsilon)
//   y = (x - mean_c) * factor_c + ((mean_c - mean_g) * factor_c + bias)
// The last line is pointwise and fuses with later operators. No sum adds squares of numbers far from zero, so a large
// mean costs no precision.
#include "compiler/ops/op_def.h"
#include "compiler/passes/block_rules.h"

namespace gcg {
namespace {

class NormBlocking {
 public:
  NormBlocking(BlockedLayout& layout, const Node& node)
      : layout_(layout),
        name_(node.name),
        x_(node.inputs[0]),
        scale_(node.inputs[1]),
        bias_(node.inputs[2]),
        y_(node.outputs[0]),
        epsilon_(node.float_attribute("epsilon", 1e-5)),
        channels_(layout.channels(x_)),
        groups_(std::string_view(node.op->name) == "GroupNormalization" ? node.int_attribute("num_groups", 1)
                                                                        : channels_),
        per_group_(node.int_attribute("scale_per_group", 0) != 0) {}

  void run() {
    const ValueId x = layout_.blocked(x_), mean = spatial_mean(x);
    const ValueId centred = add("Sub", {x, mean}), variance = spatial_mean(add("Mul", {centred, centred}));
    const ValueId means = in_groups(mean), variances = in_groups(variance);
    ValueId group_variance = variances, offset;
    if (groups_ < channels_) {
      offset = add("Sub", {means, group_mean(means)});
      group_variance = group_mean(add("Add", {variances, add("Mul", {offset, offset})}));
    }
    const ValueId deviation = add("Sqrt", {add("Add", {group_variance, number(epsilon_)})});
    const ValueId factor = add("Mul", {add("Reciprocal", {deviation}), weight(scale_)});
    ValueId shift = weight(bias_);
    if (offset.valid()) shift = add("Add", {add("Mul", {offset, factor}), shift});
    // Subtracts the mean again instead of reading `centred`, because a shared value would be stored.
    const ValueId product = add("Mul", {add("Sub", {x, mean}), per_lane(factor)});
    layout_.replace(y_, add("Add", {product, per_lane(shift)}));
  }

 private:
  ValueId add(const char* op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    return layout_.add(op, "", name_, std::move(inputs), std::move(attributes));
  }
  ValueId ints(const std::vector<int64_t>& values) { return layout_.add_ints(name_ + ".shape", values); }
  ValueId number(double value) {
    Tensor t(DType::f32, {});
    t.set_double(0, value);
    return layout_.graph().add_constant(name_ + ".epsilon", std::move(t));
  }
  ValueId mean_over(ValueId v, const std::vector<int64_t>& axes) {
    return add("ReduceMean", {v, ints(axes)}, {{"keepdims", int64_t{1}}});
  }
  ValueId spatial_mean(ValueId blocked) {
    std::vector<int64_t> axes;
    for (size_t d = 2; d + 1 < layout_.value(blocked).shape->size(); ++d) axes.push_back(static_cast<int64_t>(d));
    return mean_over(blocked, axes);
  }
  ValueId group_mean(ValueId grouped) { return mean_over(grouped, {2}); }

  /// A shape of one point, with as many spatial dimensions as the activation's image (BlockedLayout::image).
  template <class Extent>
  std::vector<Extent> one_place(Extent batch) const {
    std::vector<Extent> shape = {batch, Extent(channels_)};
    shape.resize(std::max<size_t>(layout_.value(x_).shape->size(), 4), Extent(1));
    return shape;
  }

  /// [N, C/16, 1, 1, 16] as [N, G, C/G].
  ValueId in_groups(ValueId blocked) {
    const Dim batch = (*layout_.value(x_).shape)[0];
    const ValueId vector = layout_.unblocked(blocked, name_, one_place(batch));
    return add("Reshape", {vector, ints({0, groups_, channels_ / groups_})});
  }

  /// [C] or [G] as [G, C/G].
  ValueId weight(ValueId v) {
    const ValueId rows = add("Reshape", {v, ints({groups_, per_group_ ? 1 : channels_ / groups_})});
    return per_group_ ? add("Expand", {rows, ints({groups_, channels_ / groups_})}) : rows;
  }

  /// [N or 1, G, C/G] as [N or 1, C/16, 1, 1, 16].
  ValueId per_lane(ValueId grouped) {
    const int64_t batch = layout_.value(grouped).shape->size() == 3 ? 0 : 1;
    return layout_.blocked(add("Reshape", {grouped, ints(one_place(batch))}));
  }

  BlockedLayout& layout_;
  const std::string name_;
  const ValueId x_, scale_, bias_, y_;
  const double epsilon_;
  const int64_t channels_, groups_;
  const bool per_group_;
};

}  // namespace

bool block_norm(BlockedLayout& layout, NodeId id) {
  const Node& node = layout.graph().node(id);
  if (!layout.is_blocked(node.inputs[0]) || !layout.is_activation(node.outputs[0])) return false;
  NormBlocking(layout, node).run();
  return true;
}

}  // namespace gcg
