#include "compiler/passes/channels_last.h"

#include <algorithm>

#include "compiler/ops/launches.h"

namespace gcg {
namespace {

constexpr int64_t kCopyBytes = 16;  // the largest number of bytes that one instruction of a kernel copies

class Marker {
 public:
  explicit Marker(Graph& graph)
      : g_(graph),
        order_(graph.order()),
        keeps_order_(static_cast<size_t>(graph.value_count())),
        marked_(keeps_order_.size()) {}

  bool run() {
    bool changed = false;
    for (NodeId id : order_)
      for (const auto& body : g_.node(id).bodies) changed |= Marker(*body).run();
    find_kept();
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) want(g_.node(*it));
    for (NodeId id : order_) changed |= mark(g_.node(id));
    return changed;
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v.index); }

  void find_kept() {
    const auto keep = [&](const std::vector<ValueId>& values) {
      for (ValueId v : values)
        if (v.valid()) keeps_order_[at(v)] = true;
    };
    keep(g_.inputs);
    keep(g_.outputs);
    for (NodeId id : order_) {
      const Node& n = g_.node(id);
      if (launches_of(*n.op) != nullptr) keep(n.outputs);  // such operators store results in plain order
      if (n.op->kind != OpKind::view && n.bodies.empty()) continue;
      keep(n.inputs);
      keep(n.outputs);
    }
  }

  /// Records the inputs of a convolution, and the values from which they are made.
  void want(const Node& n) {
    if (is_channels_last_conv(n)) {
      if (reads_channels(g_, n)) marked_[at(n.inputs[0])] = true;
      return;
    }
    const bool passes_on = n.op->keeps_channels() && std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) {
                             return v.valid() && marked_[at(v)];
                           });
    for (ValueId in : n.inputs)
      if (passes_on && in.valid()) marked_[at(in)] = true;
  }

  bool mark(const Node& n) {
    if (is_channels_last_conv(n)) {
      const bool reads = reads_channels(g_, n);
      bool changed = reads && mark(n.inputs[0]);
      if (reads || marked_[at(n.outputs[0])]) changed |= mark(n.outputs[0]);
      return changed;
    }
    bool changed = false;
    if (n.op->keeps_channels() && reads_marked(n))
      for (ValueId out : n.outputs)
        if (out.valid()) changed |= mark(out);
    return changed;
  }

  bool reads_marked(const Node& n) const {
    const size_t rank = g_.value(n.outputs[0]).shape->size();
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
      return in.valid() && g_.value(in).channels_last && g_.value(in).shape->size() == rank;
    });
  }

  bool mark(ValueId v) {
    Value& value = g_.value(v);
    if (keeps_order_[at(v)] || value.is_constant() || value.contents || value.dtype != DType::f32) return false;
    if (!value.shape || value.shape->size() < 3 || value.shape->size() > 5) return false;
    const auto is_one = [](const Dim& d) { return d.is(1); };
    if (is_one((*value.shape)[1]) || std::all_of(value.shape->begin() + 2, value.shape->end(), is_one)) return false;
    value.channels_last = true;
    return true;
  }

  Graph& g_;
  std::vector<NodeId> order_;
  std::vector<bool> keeps_order_, marked_;  // by value
};

}  // namespace

bool is_channels_last_conv(const Node& n) { return n.op == &op("PlainConv", "gart"); }

bool reads_channels(const Graph& graph, const Node& conv) {
  const int64_t channels = graph.value(conv.inputs[1]).shape->back().constant();
  return channels * static_cast<int64_t>(size_of(graph.value(conv.inputs[0]).memory_dtype())) % kCopyBytes == 0;
}

bool channels_last(Graph& graph) { return Marker(graph).run(); }

}  // namespace gcg
