#include "compiler/passes/narrow_ends.h"

#include <algorithm>

#include "compiler/ops/op_def.h"
#include "compiler/passes/channels_last.h"

namespace gcg {
namespace {

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Are elements that the node reads and makes expressions or sums, which may lie in memory as any type?
bool takes_any_storage(const Node& n) {
  return n.bodies.empty() && (n.op->lower != nullptr || n.op->kind == OpKind::contraction);
}

class Ends {
 public:
  Ends(Graph& graph, const Target& target) : g_(graph) {
    if (target.precision == Precision::fp16) only_ = DType::f16;
    if (target.precision == Precision::bf16) only_ = DType::bf16;
  }

  bool run() {
    bool changed = false;
    for (ValueId v : g_.inputs) changed |= narrow_input(v);
    for (size_t i = 0; i < g_.outputs.size(); ++i) changed |= narrow_output(g_.outputs[i]);
    return changed;
  }

 private:
  Value& value(ValueId v) { return g_.value(v); }
  bool is_wanted(DType dtype) const { return is_half(dtype) && (only_ == DType::undefined || dtype == only_); }
  bool is_cast(const Node& n) const { return n.op == &op("Cast"); }
  const std::vector<NodeId>& readers(ValueId v) {
    if (users_.empty()) users_ = g_.users();
    return users_[static_cast<size_t>(v.index)];
  }

  /// May the node read the input itself instead of this Cast of it?
  bool reads_past(const Node& n, ValueId widened) const {
    const bool brings_channels = is_channels_last_conv(n) && n.inputs[0] == widened && reads_channels(g_, n);
    return takes_any_storage(n) && !brings_channels;
  }

  bool narrow_input(ValueId x) {
    if (!is_wanted(value(x).dtype) || g_.is_output(x)) return false;
    const std::vector<NodeId> casts = readers(x);
    if (!std::all_of(casts.begin(), casts.end(), [&](NodeId id) { return is_cast(g_.node(id)); })) return false;
    bool changed = false;
    for (NodeId id : casts) changed |= read_past(id, x);
    if (!changed) return false;
    value(x).stored = value(x).dtype;
    value(x).dtype = DType::f32;
    users_.clear();
    return true;
  }

  bool read_past(NodeId cast, ValueId x) {
    const ValueId widened = g_.node(cast).outputs[0];
    if (value(widened).dtype != DType::f32) return false;
    size_t left = g_.is_output(widened) ? 1 : 0;
    bool changed = false;
    for (NodeId id : readers(widened)) {
      const bool past = reads_past(g_.node(id), widened);
      changed |= past;
      left += past ? 0 : 1;
      if (past) std::replace(g_.node(id).inputs.begin(), g_.node(id).inputs.end(), widened, x);
    }
    if (left == 0 && changed) g_.erase_node(cast);
    return changed;
  }

  /// The value whose storage holds the elements of `v`.
  ValueId viewed(ValueId v) {
    while (value(v).producer.valid() && g_.node(value(v).producer).op->kind == OpKind::view)
      v = g_.node(value(v).producer).inputs[0];
    return v;
  }

  /// Does one node alone read the value, and each on the way to what it views?
  bool is_read_once(ValueId v, ValueId base) {
    for (; v != base; v = g_.node(value(v).producer).inputs[0])
      if (readers(v).size() != 1 || g_.is_output(v)) return false;
    return readers(base).size() == 1 && !g_.is_output(base);
  }

  bool narrow_output(ValueId y) {
    const DType half = value(y).dtype;
    const NodeId cast = value(y).producer;
    if (!is_wanted(half) || !cast.valid() || !is_cast(g_.node(cast)) || !readers(y).empty()) return false;
    const ValueId v = g_.node(cast).inputs[0], base = viewed(v);
    if (!can_store(v) || !can_store(base) || g_.is_output(v)) return false;
    if (value(base).stored != half) {
      if (value(base).stored != DType::undefined || !is_read_once(v, base)) return false;
      value(base).stored = half;
    }
    value(v).stored = half;
    g_.replace_uses(y, v);
    g_.erase_node(cast);
    std::swap(value(v).name, value(y).name);  // the name of the output stays with it
    users_.clear();
    return true;
  }

  bool can_store(ValueId v) {
    const Value& x = value(v);
    return x.dtype == DType::f32 && !x.is_constant() && !x.contents && x.producer.valid() &&
           takes_any_storage(g_.node(x.producer));
  }

  Graph& g_;
  DType only_ = DType::undefined;  // the 16 bits that contractions multiply; undefined: they widen both
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

bool narrow_ends(Graph& graph, const Target& target) { return Ends(graph, target).run(); }

}  // namespace gcg
