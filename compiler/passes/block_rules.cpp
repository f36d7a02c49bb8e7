#include "compiler/passes/block_rules.h"

#include <algorithm>

#include "compiler/kernel/packing.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/kernel/winograd.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<int64_t>;

/// A copy of the parts of a node that rules read; the node itself moves when nodes are added.
struct Source {
  const OpDef* op;
  std::string name;
  std::vector<ValueId> inputs;
  ValueId output;
  Attributes attributes;

  explicit Source(const Node& n)
      : op(n.op), name(n.name), inputs(n.inputs), output(n.outputs[0]), attributes(n.attributes) {}
};

// ---- Conv

struct ConvShape {
  int64_t inputs, outputs, group;
  Window window;
};

bool known_pads(const Window& window) {
  return std::all_of(window.begin(), window.end(),
                     [](const WindowDim& w) { return w.pad_begin.is_constant() && w.pad_end.is_constant(); });
}

std::optional<ConvShape> blockable_conv(const BlockedLayout& layout, const Node& node) {
  const ValueId x = node.inputs[0];
  const Value& w = layout.value(node.inputs[1]);
  if (!layout.is_activation(x) || !layout.is_activation(node.outputs[0]) || !is_static(*w.shape)) return {};
  const bool bytes = layout.value(x).dtype == DType::u8 && w.dtype == DType::i8 && node.inputs.size() == 2;
  if (layout.value(x).dtype != DType::f32 && !bytes) return {};
  ConvShape conv{layout.channels(x), (*w.shape)[0].constant(), node.int_attribute("group", 1), {}};
  if (conv.outputs == 0 || conv.inputs == 0) return {};
  conv.window = window_of(node, *layout.value(x).shape, {w.shape->begin() + 2, w.shape->end()});
  if (!known_pads(conv.window)) return {};
  return conv;
}

/// The attributes of a 2-D window; a 1-D one slides over the columns of a single row.
Attributes window_attributes(const Window& window) {
  Ints kernel, strides, dilations, begin, end;
  if (window.size() == 1) kernel = strides = dilations = {1}, begin = end = {0};
  for (const WindowDim& w : window) {
    kernel.push_back(w.kernel.constant());
    strides.push_back(w.stride);
    dilations.push_back(w.dilation);
    begin.push_back(w.pad_begin.constant());
    end.push_back(w.pad_end.constant());
  }
  begin.insert(begin.end(), end.begin(), end.end());
  return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", begin}};
}

/// The Winograd tile that is faster than the direct convolution; 0 if none is.
int64_t winograd_tile(const BlockedLayout& layout, const Source& from, const ConvShape& conv) {
  const Value& w = layout.value(from.inputs[1]);
  if (!w.is_constant() || w.dtype != DType::f32 || conv.group != 1 || conv.window.size() != 2) return 0;
  for (const WindowDim& d : conv.window)
    if (!d.kernel.is(kWinogradKernel) || d.stride != 1 || d.dilation != 1) return 0;
  return best_winograd_tile(conv.inputs, conv.outputs, conv.window[0].output, conv.window[1].output);
}

/// The Winograd convolution of blocked input channels, without its bias.
ValueId add_winograd(BlockedLayout& layout, const Source& from, const ConvShape& conv, int64_t tile) {
  const std::string name = layout.value(from.inputs[1]).name;
  const ValueId u = layout.add("WinogradWeights", "gart", name, {from.inputs[1]}, {{"tile", tile}});
  const ValueId packed = layout.add("PackConv", "gart", name, {u}, {{"group", int64_t{1}}, {"plain", int64_t{0}}});
  Attributes attributes = {{"in_channels", conv.inputs}, {"out_channels", conv.outputs}, {"tile", tile}};
  attributes["pads"] = std::get<Ints>(window_attributes(conv.window).at("pads"));
  return layout.add("WinogradConv", "gart", from.name, {layout.blocked(from.inputs[0]), packed}, attributes);
}

ValueId add_blocked(BlockedLayout& layout, const Source& from, const ConvShape& conv, bool plain) {
  const ValueId w = layout.image(from.inputs[1]);
  Attributes packing = {{"group", conv.group}, {"plain", int64_t{plain}}};
  const ValueId packed = layout.add("PackConv", "gart", layout.value(w).name, {w}, packing);
  Attributes attributes = window_attributes(conv.window);
  attributes.merge(packing);
  attributes["in_channels"] = conv.inputs;
  attributes["out_channels"] = conv.outputs;
  const ValueId input = plain ? layout.image(from.inputs[0]) : layout.blocked(from.inputs[0]);
  return layout.add("BlockedConv", "gart", from.name, {input, packed}, attributes);
}

bool block_conv(BlockedLayout& layout, const Node& node) {
  const std::optional<ConvShape> conv = blockable_conv(layout, node);
  if (!conv) return false;
  const Source from(node);
  const ValueId x = from.inputs[0];
  const bool bytes = layout.value(x).dtype == DType::u8;
  const bool plain = !bytes && conv->group == 1 && conv->inputs < kChannelBlock && !layout.has_form(x);
  const int64_t tile = !plain && layout.transforms_weights() ? winograd_tile(layout, from, *conv) : 0;
  ValueId y = tile > 0 ? add_winograd(layout, from, *conv, tile) : add_blocked(layout, from, *conv, plain);
  if (from.inputs.size() > 2 && from.inputs[2].valid()) {
    const auto rank = static_cast<int64_t>(layout.value(from.output).shape->size());
    y = layout.add("Add", "", from.name, {y, layout.channel_vector(from.inputs[2], rank)});
  }
  layout.replace(from.output, y);
  return true;
}

// ---- operators that continue a region

/// Continues a region if an operand that spans the whole result is already blocked. If only a gate [N, C, 1, 1] is
/// blocked, converting a large plain operand would cost more than it saves.
bool block_pointwise(BlockedLayout& layout, const Node& node) {
  if (!layout.is_activation(node.outputs[0]) || node.has_attribute("axis")) return false;
  const Shape& shape = *layout.value(node.outputs[0]).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t channels = layout.channels(node.outputs[0]);
  bool continues = false;
  for (ValueId in : node.inputs) {
    if (!layout.fits(in, rank, channels)) return false;
    continues = continues || (in.valid() && layout.is_blocked(in) && *layout.value(in).shape == shape);
  }
  if (!continues) return false;
  const Source from(node);
  std::vector<ValueId> inputs;
  for (ValueId in : from.inputs) inputs.push_back(layout.operand(in, rank, channels));
  layout.replace(from.output, layout.add(*from.op, from.name, inputs, from.attributes));
  return true;
}

bool block_pool(BlockedLayout& layout, const Node& node, const char* blocked_op) {
  const bool indices = node.outputs.size() > 1 && node.outputs[1].valid();
  if (indices || !layout.is_blocked(node.inputs[0])) return false;
  const Source from(node);
  Attributes attributes = from.attributes;
  if (layout.value(from.inputs[0]).shape->size() == 3) {
    for (const char* name : {"kernel_shape", "strides", "dilations"}) {
      if (!node.has_attribute(name)) continue;
      attributes[name] = Ints{1, node.ints_attribute(name)[0]};
    }
    if (const Ints pads = node.ints_attribute("pads"); !pads.empty()) attributes["pads"] = Ints{0, pads[0], 0, pads[1]};
  }
  layout.replace(from.output, layout.add(blocked_op, "gart", from.name, {layout.blocked(from.inputs[0])}, attributes));
  return true;
}

/// The spatial axes of the blocked form of an activation of this rank.
Ints spatial_axes(int64_t rank) { return rank == 5 ? Ints{2, 3, 4} : Ints{2, 3}; }

/// Reduces over `axes` of the blocked form and keeps dimensions. The result may be [N, C].
void reduce_blocked(BlockedLayout& layout, const Source& from, const char* op, const Ints& axes) {
  const ValueId y =
      layout.add(op, "", from.name, {layout.blocked(from.inputs[0]), layout.add_ints(from.name + ".axes", axes)},
                 {{"keepdims", int64_t{1}}});
  if (layout.value(from.output).shape->size() == 2)
    layout.replace_vector(from.output, y);
  else
    layout.replace(from.output, y);
}

bool block_reduce(BlockedLayout& layout, const Node& node) {
  const ValueId x = node.inputs[0];
  if (!layout.is_blocked(x) || node.inputs.size() < 2 || !node.inputs[1].valid()) return false;
  const auto known = known_ints(layout.value(node.inputs[1]));
  const auto rank = static_cast<int64_t>(layout.value(x).shape->size());
  if (!known || known->empty()) return false;
  Ints axes = *known;
  for (int64_t& a : axes) a = wrap_axis(a, rank) + (rank == 3 ? 1 : 0);
  std::sort(axes.begin(), axes.end());
  if (axes[0] < 2 || (rank == 3 && axes[0] < 3)) return false;
  const bool whole = static_cast<int64_t>(axes.size()) == rank - 2, keeps = node.int_attribute("keepdims", 1) != 0;
  if (!whole && !keeps) return false;
  reduce_blocked(layout, Source(node), node.op->name, whole ? spatial_axes(rank) : axes);
  return true;
}

bool block_global_pool(BlockedLayout& layout, const Node& node, const char* reduction) {
  if (!layout.is_blocked(node.inputs[0])) return false;
  const auto rank = static_cast<int64_t>(layout.value(node.inputs[0]).shape->size());
  reduce_blocked(layout, Source(node), reduction, spatial_axes(rank));
  return true;
}

/// The entries of a Resize input for `positions`, as a separate input.
ValueId entries_at(BlockedLayout& layout, ValueId list, const Ints& positions) {
  const std::string name = layout.value(list).name;
  if (const TensorRef from = layout.value(list).constant) {
    Tensor to(from->dtype(), {static_cast<int64_t>(positions.size())});
    for (size_t i = 0; i < positions.size(); ++i) to.set_double(static_cast<int64_t>(i), from->at_double(positions[i]));
    return layout.graph().add_constant(name, std::move(to));
  }
  return layout.add("Gather", "", name, {list, layout.add_ints(name + ".spatial", positions)}, {{"axis", int64_t{0}}});
}

/// True if the node is blocked already, or may become blocked.
bool stays_blocked(const Graph& graph, const Node& node, ValueId read);

/// True if no reader of the value stays blocked.
bool leaves_region(const Graph& graph, ValueId v) {
  const auto users = graph.users();
  const std::vector<NodeId>& readers = users[static_cast<size_t>(v.index)];
  return std::none_of(readers.begin(), readers.end(),
                      [&](NodeId id) { return stays_blocked(graph, graph.node(id), v); });
}

bool stays_blocked(const Graph& graph, const Node& node, ValueId read) {
  if (node.op->kind != OpKind::pointwise)
    return node.op->kind == OpKind::contraction || (node.op->keeps_channels() && node.op != &op_Transpose);
  // True for an input other than `read`. A pointwise node without such an input stays blocked if one of its readers
  // does.
  const auto is_other = [&](ValueId in) { return in.valid() && in != read && !graph.value(in).is_constant(); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_other) || node.outputs.size() != 1 ||
         !leaves_region(graph, node.outputs[0]);
}

/// True if the result is larger and read in plain order. Converting the node's input is cheaper then: it has fewer
/// elements, and no padding lanes are computed.
bool enlarges_at_the_end(const Graph& graph, ValueId x, ValueId y) {
  const Shape &from = *graph.value(x).shape, &to = *graph.value(y).shape;
  return typical(product(to)) > typical(product(from)) && leaves_region(graph, y);
}

/// Resizing rows and columns does not touch the blocks. Only done if batch and channels are known to stay the same.
bool block_resize(BlockedLayout& layout, const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (!layout.is_blocked(x) || !layout.is_activation(y)) return false;
  const Shape &from_shape = *layout.value(x).shape, &to_shape = *layout.value(y).shape;
  const auto rank = static_cast<int64_t>(from_shape.size());
  const std::string how = node.string_attribute("coordinate_transformation_mode", "half_pixel");
  const bool keeps_ratio = node.string_attribute("keep_aspect_ratio_policy", "stretch") != "stretch";
  if (how == "tf_crop_and_resize" || keeps_ratio) return false;
  if (!(from_shape[0] == to_shape[0]) || !(from_shape[1] == to_shape[1])) return false;
  if (enlarges_at_the_end(layout.graph(), x, y)) return false;
  Ints listed = node.ints_attribute("axes");
  if (listed.empty())
    for (int64_t d = 0; d < rank; ++d) listed.push_back(d);
  Ints positions, axes;
  for (size_t k = 0; k < listed.size(); ++k) {
    const int64_t d = wrap_axis(listed[k], rank);
    if (d < 2) continue;
    positions.push_back(static_cast<int64_t>(k));
    axes.push_back(rank == 3 ? d + 1 : d);
  }
  if (axes.empty()) return false;
  const Source from(node);
  std::vector<ValueId> inputs = {layout.blocked(x), ValueId()};
  for (size_t i = 2; i < from.inputs.size(); ++i) {
    const ValueId in = from.inputs[i];
    const bool given = in.valid() && !product(*layout.value(in).shape).is(0);
    inputs.push_back(given ? entries_at(layout, in, positions) : ValueId());
  }
  Attributes attributes = from.attributes;
  attributes["axes"] = axes;
  layout.replace(from.output, layout.add("Resize", "", from.name, inputs, attributes));
  return true;
}

/// Whole blocks can be joined if every operand except the last fills its blocks. Joins them only if at least half of
/// the channels are already blocked, because converting the others costs time.
bool block_concat(BlockedLayout& layout, const Node& node) {
  if (!layout.is_activation(node.outputs[0])) return false;
  const auto rank = static_cast<int64_t>(layout.value(node.outputs[0]).shape->size());
  if (wrap_axis(node.int_attribute("axis", 0), rank) != 1) return false;
  int64_t blocked = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId in = node.inputs[i];
    if (!layout.is_activation(in)) return false;
    if (i + 1 < node.inputs.size() && layout.channels(in) % kChannelBlock != 0) return false;
    if (layout.is_blocked(in)) blocked += layout.channels(in);
  }
  if (2 * blocked < layout.channels(node.outputs[0])) return false;
  const Source from(node);
  std::vector<ValueId> inputs;
  for (ValueId in : from.inputs) inputs.push_back(layout.blocked(in));
  layout.replace(from.output, layout.add("Concat", "", from.name, inputs, {{"axis", int64_t{1}}}));
  return true;
}

/// Padding rows and columns does not touch the blocks.
bool block_pad(BlockedLayout& layout, const Node& node) {
  if (!layout.is_blocked(node.inputs[0])) return false;
  const ValueId padded = layout.blocked_pad(node);
  if (!padded.valid()) return false;
  layout.replace(node.outputs[0], padded);
  return true;
}

/// Interleaving spatial positions does not touch the blocks.
bool block_interleave(BlockedLayout& layout, const Node& node) {
  if (!layout.is_activation(node.outputs[0]) || !layout.is_blocked(node.inputs[0])) return false;
  const bool signal = layout.value(node.outputs[0]).shape->size() == 3;
  const Source from(node);
  Attributes attributes = from.attributes;
  Ints axes = node.ints_attribute("axes");
  for (int64_t& axis : axes) {
    if (axis < 2) return false;
    if (signal) ++axis;
  }
  attributes["axes"] = axes;
  std::vector<ValueId> inputs;
  for (ValueId in : from.inputs) inputs.push_back(layout.blocked(in));
  layout.replace(from.output, layout.add("Interleave", "gart", from.name, inputs, attributes));
  return true;
}

}  // namespace

bool block_node(BlockedLayout& layout, NodeId id) {
  const Node& node = layout.graph().node(id);
  const std::string name = node.op->name;
  if (node.outputs.empty() || !node.outputs[0].valid()) return false;
  if (node.op == &op("Interleave", "gart")) return block_interleave(layout, node);
  if (!std::string_view(node.op->domain).empty()) return false;
  if (name == "Conv" || name == "ConvInteger") return block_conv(layout, node);
  if (name == "MaxPool") return block_pool(layout, node, "BlockedMaxPool");
  if (name == "AveragePool") return block_pool(layout, node, "BlockedAveragePool");
  if (name == "GlobalAveragePool") return block_global_pool(layout, node, "ReduceMean");
  if (name == "GlobalMaxPool") return block_global_pool(layout, node, "ReduceMax");
  if (name == "Resize") return block_resize(layout, node);
  if (name == "Concat") return block_concat(layout, node);
  if (name == "Pad") return block_pad(layout, node);
  if (name == "GroupNormalization" || name == "InstanceNormalization") return block_norm(layout, id);
  if (name.rfind("Reduce", 0) == 0) return block_reduce(layout, node);
  if (node.op->kind == OpKind::pointwise && node.outputs.size() == 1) return block_pointwise(layout, node);
  return false;
}

}  // namespace gcg
