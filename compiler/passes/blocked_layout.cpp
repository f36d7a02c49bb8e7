#include "compiler/passes/blocked_layout.h"

#include <algorithm>

#include "compiler/kernel/packing.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// Extents aligned right to `rank` dimensions; the leading ones are 1.
template <class Extent>
std::vector<Extent> aligned(const std::vector<Extent>& shape, int64_t rank) {
  std::vector<Extent> result(static_cast<size_t>(rank) - shape.size(), Extent(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

/// [N, C, L] -> [N, C, 1, L]; higher ranks as they are.
template <class Extent>
std::vector<Extent> lifted(std::vector<Extent> shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, Extent(1));
  return shape;
}

bool all_ones(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is(1); });
}

/// True if each channel has a single point, so that blocked and plain order are the same.
bool same_order(const Shape& image) {
  return all_ones({image.begin() + 2, image.end()}) && mod(image[1], kChannelBlock).is(0);
}

/// A shape with one point in each of `spatial` dimensions.
std::vector<int64_t> one_point(int64_t batch, int64_t channels, size_t spatial) {
  std::vector<int64_t> shape = {batch, channels};
  shape.resize(2 + spatial, 1);
  return shape;
}

}  // namespace

bool BlockedLayout::is_activation(ValueId id) const {
  if (!id.valid()) return false;
  const Value& v = value(id);
  const bool bytes = v.dtype == DType::u8 || v.dtype == DType::i8 || v.dtype == DType::i32;
  const bool held = v.dtype == DType::f32 || v.dtype == DType::boolean || bytes;
  return held && v.shape && v.shape->size() >= 3 && v.shape->size() <= 5 && (*v.shape)[1].is_constant() &&
         (*v.shape)[1].constant() > 0;
}

ValueId BlockedLayout::add(const std::string& op_name, const std::string& domain, const std::string& name,
                           std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes) {
  return add(op(op_name, domain), name, std::move(inputs), std::move(attributes));
}

ValueId BlockedLayout::add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                           std::map<std::string, Attribute> attributes) {
  const NodeId node = graph_.add_node(op, name, std::move(inputs), 1, std::move(attributes));
  infer_node(graph_, node, outermost_);
  return graph_.node(node).outputs[0];
}

ValueId BlockedLayout::add_ints(const std::string& name, const std::vector<int64_t>& values) {
  return graph_.add_constant(name, Tensor::vector_i64(values));
}

ValueId BlockedLayout::image(ValueId id) {
  if (value(id).shape->size() >= 4) return id;
  const auto found = images_.find(id);
  if (found != images_.end()) return found->second;
  const std::string name = value(id).name;
  return images_[id] = add("Unsqueeze", "", name, {id, add_ints(name + ".axes", {2})});
}

ValueId BlockedLayout::blocked(ValueId id) {
  const auto found = forms_.find(id);
  if (found != forms_.end()) return found->second;
  const NodeId producer = value(id).producer;
  if (producer.valid() && graph_.node(producer).op == &op_Pad && is_activation(graph_.node(producer).inputs[0]))
    if (const ValueId padded = blocked_pad(graph_.node(producer)); padded.valid()) return forms_[id] = padded;
  const ValueId plain = image(id);
  const Shape shape = *value(plain).shape;
  const std::string name = value(id).name;
  if (same_order(shape)) {
    std::vector<int64_t> to = one_point(0, blocks_of(shape[1].constant(), kChannelBlock), shape.size() - 2);
    to.push_back(kChannelBlock);
    return forms_[id] = add("Reshape", "", name, {plain, add_ints(name + ".shape", to)});
  }
  return forms_[id] = add("BlockChannels", "gart", name, {plain});
}

ValueId BlockedLayout::blocked_pad(const Node& pad) {
  const ValueId x = pad.inputs[0];
  if (pad.inputs.size() > 3 && pad.inputs[3].valid()) return ValueId();
  const auto known = known_ints(value(pad.inputs[1]));
  const size_t rank = value(x).shape->size();
  if (!known || known->size() != 2 * rank) return ValueId();
  std::vector<int64_t> pads;
  for (size_t d = 0; d < 2 * rank; ++d) {
    if (d % rank < 2 && (*known)[d] != 0) return ValueId();
    if (d % rank == 2 && rank == 3) pads.push_back(0);
    pads.push_back((*known)[d]);
    if (d % rank == rank - 1) pads.push_back(0);
  }
  const std::string name = pad.name;
  const auto attributes = pad.attributes;
  const std::vector<ValueId> from = pad.inputs;
  std::vector<ValueId> inputs = {blocked(x), add_ints(name + ".pads", pads)};
  if (from.size() > 2) inputs.push_back(from[2]);
  return add(op_Pad, name, inputs, attributes);
}

ValueId BlockedLayout::unblocked(ValueId blocked_value, const std::string& name, const Shape& image_shape) {
  const int64_t channel_count = image_shape[1].constant();
  if (!same_order(image_shape))
    return add("UnblockChannels", "gart", name, {blocked_value}, {{"channels", channel_count}});
  const std::vector<int64_t> to = one_point(0, channel_count, image_shape.size() - 2);
  return add("Reshape", "", name, {blocked_value, add_ints(name + ".shape", to)});
}

/// Blocks the constant's channel dimension if it holds all channels. Otherwise the channel dimension and the lane
/// dimension have the extent 1.
ValueId BlockedLayout::blocked_constant(const Value& constant, int64_t rank, int64_t channel_count) {
  const Tensor& from = *constant.constant;
  const std::vector<int64_t> shape = lifted(aligned(from.shape(), rank));
  const bool has_channels = shape[1] == channel_count;
  const int64_t blocks = has_channels ? blocks_of(shape[1], kChannelBlock) : 1,
                lanes = has_channels ? kChannelBlock : 1;
  std::vector<int64_t> blocked = {shape[0], blocks};
  blocked.insert(blocked.end(), shape.begin() + 2, shape.end());
  blocked.push_back(lanes);
  const int64_t area = element_count({shape.begin() + 2, shape.end()});
  Tensor to(from.dtype(), blocked);
  const auto size = static_cast<size_t>(size_of(from.dtype()));
  uint8_t* bytes = to.mutable_data();
  for (int64_t i = 0; i < from.elements(); ++i) {
    const int64_t n = i / (shape[1] * area), c = i / area % shape[1], point = i % area;
    const int64_t place = ((n * blocks + c / kChannelBlock) * area + point) * lanes + c % kChannelBlock;
    std::memcpy(bytes + static_cast<size_t>(place) * size, from.data() + static_cast<size_t>(i) * size, size);
  }
  if (shape[0] == 1) to = to.reshaped({blocked.begin() + 1, blocked.end()});
  return graph_.add_constant(constant.name, std::move(to));
}

ValueId BlockedLayout::channel_vector(ValueId id, int64_t rank) {
  const auto spatial = static_cast<size_t>(std::max<int64_t>(rank, 4) - 2);
  const auto key = std::make_pair(id, -static_cast<int64_t>(spatial));
  if (operands_.count(key) != 0) return operands_[key];
  const int64_t count = product(*value(id).shape).constant();
  if (value(id).is_constant()) {
    Value per_channel = value(id);
    per_channel.constant = std::make_shared<const Tensor>(per_channel.constant->reshaped(one_point(1, count, spatial)));
    return operands_[key] = blocked_constant(per_channel, static_cast<int64_t>(spatial) + 2, count);
  }
  const std::string name = value(id).name;
  const ValueId image = add("Reshape", "", name, {id, add_ints(name + ".shape", one_point(1, count, spatial))});
  return operands_[key] = blocked(image);
}

bool BlockedLayout::is_vector(ValueId id, int64_t channel_count) const {
  const Value& v = value(id);
  return v.dtype == DType::f32 && product(*v.shape).is(channel_count);
}

bool BlockedLayout::fits(ValueId id, int64_t rank, int64_t channel_count) const {
  if (!id.valid()) return true;
  const Value& v = value(id);
  if (!v.shape || static_cast<int64_t>(v.shape->size()) > rank) return false;
  const Dim value_channels = aligned(*v.shape, rank)[1];
  if (value_channels.is(1) || v.is_constant()) return value_channels.is(1) || value_channels.is(channel_count);
  const bool is_whole = static_cast<int64_t>(v.shape->size()) == rank && is_activation(id);
  return value_channels.is(channel_count) && (is_whole || is_vector(id, channel_count));
}

ValueId BlockedLayout::operand(ValueId id, int64_t rank, int64_t channel_count) {
  if (!id.valid()) return id;
  const Value v = value(id);
  const auto own_rank = static_cast<int64_t>(v.shape->size());
  if (own_rank <= 1 && all_ones(*v.shape)) return id;
  const bool has_channels = aligned(*v.shape, rank)[1].is(channel_count);
  if (has_channels && !v.is_constant()) {
    if (own_rank == rank && is_activation(id)) return blocked(id);
    if (is_vector(id, channel_count)) return channel_vector(id, rank);
  }
  const auto key = std::make_pair(id, rank);
  const auto found = operands_.find(key);
  if (found != operands_.end()) return found->second;
  if (v.is_constant()) return operands_[key] = blocked_constant(v, rank, channel_count);
  // The operand has no channel dimension, or one of extent 1. A lane dimension of extent 1 broadcasts over the lanes.
  const std::vector<int64_t> axes = rank == 3 && own_rank == 3 ? std::vector<int64_t>{2, 4} : std::vector{own_rank};
  return operands_[key] = add("Unsqueeze", "", v.name, {id, add_ints(v.name + ".axes", axes)});
}

void BlockedLayout::replace(ValueId plain, ValueId blocked_value) {
  forms_[plain] = blocked_value;
  computed_.insert(plain);
  replaced_.push_back(value(plain).producer);
}

void BlockedLayout::replace_vector(ValueId plain, ValueId blocked_value) {
  const std::string name = value(plain).name;
  const Shape shape = *value(plain).shape;
  Shape image = {shape[0], shape[1]};
  std::vector<int64_t> axes;
  for (size_t d = 2; d + 1 < value(blocked_value).shape->size(); ++d) {
    image.push_back(1);
    axes.push_back(static_cast<int64_t>(d));
  }
  const ValueId vector = unblocked(blocked_value, name, image);
  replaced_.push_back(value(plain).producer);
  graph_.replace_uses(plain, add("Squeeze", "", name, {vector, add_ints(name + ".axes", axes)}));
}

bool BlockedLayout::finish() {
  const std::set<NodeId> replaced(replaced_.begin(), replaced_.end());
  const auto users = graph_.users();
  for (ValueId plain : computed_) {
    const auto& readers = users[static_cast<size_t>(plain.index)];
    const bool inside = std::all_of(readers.begin(), readers.end(), [&](NodeId n) { return replaced.count(n) != 0; });
    if (inside && !graph_.is_output(plain)) continue;
    const std::string name = value(plain).name;
    const Shape shape = *value(plain).shape;
    ValueId result = unblocked(forms_.at(plain), name, lifted(shape));
    if (shape.size() == 3) result = add("Squeeze", "", name, {result, add_ints(name + ".axes", {2})});
    graph_.replace_uses(plain, result);
  }
  for (NodeId n : replaced) graph_.erase_node(n);
  return !replaced.empty();
}

}  // namespace gcg
