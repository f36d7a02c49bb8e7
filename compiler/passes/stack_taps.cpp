#include "compiler/passes/stack_taps.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/passes/pack_conv_weights.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

constexpr int64_t kMostChannels = 15, kMostStacked = 128, kLeastOutputs = 16;
constexpr int64_t kWholeChannels = 16;  // kernels copy lines of this many channels without divisions

/// The convolution's window, if its taps are to be stacked.
std::optional<Window> window_to_stack(const Rewriter& r, const Node& n) {
  if (n.op != &op_Conv || n.int_attribute("group", 1) != 1) return std::nullopt;
  const Value &x = r.value(n.inputs[0]), &w = r.value(n.inputs[1]);
  if (!x.shape || !w.shape || !is_static(*w.shape) || w.dtype != DType::f32 || !has_finite_weights(w))
    return std::nullopt;
  const int64_t outputs = (*w.shape)[0].constant(), channels = (*w.shape)[1].constant();
  const int64_t kernel = w.shape->back().constant();
  if (channels > kMostChannels || outputs < kLeastOutputs || kernel < 2 || channels * kernel < kWholeChannels ||
      channels * kernel > kMostStacked)
    return std::nullopt;
  Window window = window_of(n, *x.shape, Shape(w.shape->begin() + 2, w.shape->end()));
  const bool known = std::all_of(window.begin(), window.end(), [](const WindowDim& d) {
    return d.pad_begin.is_constant() && d.pad_end.is_constant();
  });
  return known ? std::optional(std::move(window)) : std::nullopt;
}

/// [O, C, kernel..., K] as [O, channels, kernel..., 1]; zero from channel K * C on.
ValueId stacked_weights(Rewriter& r, ValueId w, int64_t channels, const std::string& name) {
  const Shape shape = r.shape(w);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> perm = {0, rank - 1, 1}, pads(static_cast<size_t>(2 * rank), 0);
  for (int64_t d = 2; d + 1 < rank; ++d) perm.push_back(d);
  const ValueId lines = r.add(op_Transpose, name, {w}, {{"perm", perm}});
  Shape flat = shape;
  flat[1] = shape[1] * shape.back();
  flat.back() = 1;
  const std::optional<ViewParams> view = express_view(r.graph, lines, flat, {});
  if (!view) return {};
  const ValueId stacked = r.add(op_gart_View, name, view->inputs, {{"shape", view->shape}});
  pads[static_cast<size_t>(rank + 1)] = channels - flat[1].constant();
  return r.add(op_Pad, name,
               {stacked, r.add_constant(name + ".pads", Tensor::from<int64_t>(DType::i64, {2 * rank}, pads))});
}

bool stack(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const std::optional<Window> window = window_to_stack(r, n);
  if (!window) return false;
  const std::string name = n.name;
  std::vector<ValueId> in = n.inputs;
  const ValueId out = n.outputs[0];
  const Shape weights = r.shape(in[1]);
  const int64_t kernel = weights.back().constant(), stacked = weights[1].constant() * kernel;
  const int64_t channels = (stacked + kWholeChannels - 1) / kWholeChannels * kWholeChannels;
  std::vector<int64_t> strides, dilations, begins, ends;
  for (const WindowDim& d : *window) {
    strides.push_back(d.stride);
    dilations.push_back(d.dilation);
    begins.push_back(d.pad_begin.constant());
    ends.push_back(d.pad_end.constant());
  }
  const std::map<std::string, Attribute> along_last = {{"kernel", kernel},
                                                       {"channels", channels},
                                                       {"strides", std::vector<int64_t>{strides.back()}},
                                                       {"dilations", std::vector<int64_t>{dilations.back()}},
                                                       {"pads", std::vector<int64_t>{begins.back(), ends.back()}}};
  strides.back() = dilations.back() = 1;
  begins.back() = ends.back() = 0;
  begins.insert(begins.end(), ends.begin(), ends.end());
  in[1] = stacked_weights(r, in[1], channels, name);
  if (!in[1].valid()) return false;
  in[0] = r.add(op_gart_StackTaps, name, {in[0]}, along_last);
  return r.replace(out, r.add(op_Conv, name, in, {{"strides", strides}, {"dilations", dilations}, {"pads", begins}}));
}

}  // namespace

bool stack_taps(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (const NodeId id : r.graph.order()) any = stack(r, id) || any;
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
