#include "compiler/passes/narrow_ends.h"

#include <algorithm>

#include "compiler/ops/op_def.h"
#include "compiler/passes/channels_last.h"

namespace gcg {
namespace {

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// True if the node becomes expressions or sums, whose operands may have any type in memory.
bool computes_elements(const Node& n) {
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

  /// True if the operands of the node may have any type in memory. For a view, this depends on its readers.
  bool takes_any_storage(NodeId id) {
    const Node& n = g_.node(id);
    if (n.op->kind != OpKind::view) return computes_elements(n);
    return std::ranges::all_of(readers(n.outputs[0]), [&](NodeId reader) { return takes_any_storage(reader); });
  }

  /// True if the node may read the input instead of this Cast of it.
  bool reads_past(NodeId id, ValueId widened) {
    const Node& n = g_.node(id);
    const bool brings_channels = is_channels_last_conv(n) && n.inputs[0] == widened && reads_channels(g_, n);
    return takes_any_storage(id) && !brings_channels;
  }

  bool narrow_input(ValueId x) {
    if (!is_wanted(value(x).dtype) || g_.is_output(x)) return false;
    const std::vector<NodeId> casts = readers(x);
    if (!std::all_of(casts.begin(), casts.end(), [&](NodeId id) { return is_cast(g_.node(id)); })) return false;
    bool is_read = false, changed = false;
    for (NodeId id : casts) {
      is_read |= read_past(id, x);
      if (!g_.node(id).erased) changed |= keep_narrow(g_.node(id), value(x).dtype);
    }
    if (is_read) {
      value(x).stored = value(x).dtype;
      value(x).dtype = DType::f32;
      users_.clear();
    }
    return is_read || changed;
  }

  /// Makes readers of the Cast read the input. True if one does.
  bool read_past(NodeId cast, ValueId x) {
    const ValueId widened = g_.node(cast).outputs[0];
    if (value(widened).dtype != DType::f32) return false;
    std::vector<NodeId>& of_it = users_[static_cast<size_t>(widened.index)];
    const size_t all = of_it.size();
    std::erase_if(of_it, [&](NodeId id) {
      if (!reads_past(id, widened)) return false;
      std::replace(g_.node(id).inputs.begin(), g_.node(id).inputs.end(), widened, x);
      return true;
    });
    if (of_it.empty() && !g_.is_output(widened)) g_.erase_node(cast);
    return of_it.size() < all;
  }

  /// A Cast that stays also stores its result in 16 bits, which loses nothing.
  bool keep_narrow(const Node& cast, DType half) {
    const ValueId widened = cast.outputs[0];
    const std::vector<NodeId>& of_it = readers(widened);
    const bool fits = value(widened).dtype == DType::f32 && value(widened).stored == DType::undefined &&
                      !g_.is_output(widened) && !of_it.empty() &&
                      std::ranges::all_of(of_it, [&](NodeId id) { return takes_any_storage(id); });
    if (fits) value(widened).stored = half;
    return fits;
  }

  /// The value at the start of the chain of views that ends in `v`.
  ValueId viewed(ValueId v) {
    while (value(v).producer.valid() && g_.node(value(v).producer).op->kind == OpKind::view)
      v = g_.node(value(v).producer).inputs[0];
    return v;
  }

  /// True if the value has one reader, and each value between it and the viewed one has one reader.
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
    users_.clear();
    return true;
  }

  bool can_store(ValueId v) {
    const Value& x = value(v);
    return x.dtype == DType::f32 && !x.is_constant() && !x.contents && x.producer.valid() &&
           computes_elements(g_.node(x.producer));
  }

  Graph& g_;
  DType only_ = DType::undefined;  // the 16-bit type that contractions multiply; undefined: both types are widened
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

bool narrow_ends(Graph& graph, const Target& target) { return Ends(graph, target).run(); }

}  // namespace gcg
