#include "compiler/passes/split_last_block.h"

#include <limits>

#include "compiler/kernel/packing.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

ValueId ints(Rewriter& r, const std::string& name, int64_t value) {
  return r.add_constant(name + ".ints", Tensor::vector_i64({value}));
}

/// x[:, from:to]
ValueId slice(Rewriter& r, const std::string& name, ValueId x, int64_t from, int64_t to) {
  return r.add(op_Slice, name, {x, ints(r, name, from), ints(r, name, to), ints(r, name, 1)});
}

/// For a node that blocks or unblocks channels: their number, if they fill at least one block and leave a last block
/// that is not full. Otherwise 0.
int64_t channels_to_split(const Rewriter& r, const Node& n) {
  const bool blocks = n.op == &op_gart_BlockChannels;
  if (!blocks && n.op != &op_gart_UnblockChannels) return 0;
  const ValueId plain = blocks ? n.inputs[0] : n.outputs[0];
  if (r.value(n.inputs[0]).is_constant() || !r.shape(plain)[1].is_constant()) return 0;
  const int64_t channels = r.shape(plain)[1].constant();
  return channels > kChannelBlock && channels % kChannelBlock != 0 ? channels : 0;
}

std::string extent_name(size_t input, size_t dimension) { return concat("x", input, "_", dimension); }

/// Reshapes x [N, C, spatial...(, 16)] so that it has one spatial dimension.
ValueId flat(Rewriter& r, const std::string& name, ValueId x, bool has_lanes) {
  const size_t rank = r.shape(x).size(), end = rank - (has_lanes ? 1 : 0);
  if (end == 3) return x;
  std::string spatial = extent_name(0, 2);
  for (size_t d = 3; d < end; ++d) spatial += "*" + extent_name(0, d);
  std::vector<std::string> shape = {extent_name(0, 0), extent_name(0, 1), spatial};
  if (has_lanes) shape.push_back(extent_name(0, end));
  return r.add(op_gart_View, name, {x}, {{"shape", shape}});
}

/// Gives `y` [N, channels or blocks, flat(, 16)] the spatial dimensions of x, from which it was made.
ValueId with_dimensions_of(Rewriter& r, const std::string& name, ValueId y, ValueId x, bool x_has_lanes) {
  const size_t end = r.shape(x).size() - (x_has_lanes ? 1 : 0);
  if (end == 3) return y;
  std::vector<std::string> shape = {extent_name(1, 0), extent_name(0, 1)};
  for (size_t d = 2; d < end; ++d) shape.push_back(extent_name(1, d));
  if (!x_has_lanes) shape.push_back(extent_name(0, 3));
  return r.add(op_gart_View, name, {y, x}, {{"shape", shape}});
}

ValueId split(Rewriter& r, const std::string& name, const OpDef& op, ValueId x, int64_t channels) {
  const bool blocks = &op == &op_gart_BlockChannels;
  const ValueId pixels = flat(r, name, x, !blocks);
  const int64_t full = channels / kChannelBlock, end = std::numeric_limits<int64_t>::max();
  const int64_t cut = blocks ? full * kChannelBlock : full;
  const auto move = [&](ValueId part, int64_t part_channels) {
    if (blocks) return r.add(op, name, {part});
    return r.add(op, name, {part}, {{"channels", part_channels}});
  };
  const ValueId first = move(slice(r, name, pixels, 0, cut), full * kChannelBlock);
  const ValueId last = move(slice(r, name, pixels, cut, end), channels % kChannelBlock);
  return with_dimensions_of(r, name, r.add(op_Concat, name, {first, last}, {{"axis", int64_t{1}}}), x, !blocks);
}

}  // namespace

bool split_last_block(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    bool changed = false;
    for (NodeId id : r.graph.order()) {
      const Node& n = r.graph.node(id);
      if (n.erased) continue;
      const int64_t channels = channels_to_split(r, n);
      if (channels == 0) continue;
      const ValueId result = n.outputs[0];
      if (!r.replace(result, split(r, n.name, *n.op, n.inputs[0], channels))) continue;
      r.erase_if_dead(id);
      changed = true;
    }
    return changed;
  });
}

}  // namespace gcg
