#include "compiler/passes/open_broadcasts.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/stretch.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The extents of results, and the pairs of extents that broadcast to them.
class JoinedExtents {
 public:
  explicit JoinedExtents(const Graph& graph) {
    for (ValueId in : graph.inputs)
      for (const Dim& d : *graph.value(in).shape)
        if (const auto name = d.symbol_name()) carried_.insert(*name);
  }

  /// The extent of the result. If the operands' extents may differ in a run, records the pair. Otherwise inference
  /// decides how they agree.
  Dim join(const Dim& a, const Dim& b, const std::string& reason) {
    if (a == b || (broadcasts(b) && !b.is(0))) return a;
    if (broadcasts(a) && !a.is(0)) return b;
    if (!may_differ(a, b)) return a;
    if (is_part(b, a)) return a;
    if (is_part(a, b)) return b;
    std::set<Dim> all = members(a);
    all.merge(members(b));
    const Dim joined = extent_of(all);
    members_[joined].insert(all.begin(), all.end());
    const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const DimConstraint& p) {
      return (p.a == a && p.b == b) || (p.a == b && p.b == a);
    });
    if (!known) pairs.push_back({a, b, reason});
    return joined;
  }

  /// True if `d` was joined into `to`.
  bool is_part(const Dim& d, const Dim& to) const {
    const std::set<Dim> all = members(to), own = members(d);
    return std::includes(all.begin(), all.end(), own.begin(), own.end());
  }

  std::vector<DimConstraint> pairs;

 private:
  bool is_input_bound(const Dim& d) const {
    const std::set<std::string> names = d.symbols();
    return std::includes(carried_.begin(), carried_.end(), names.begin(), names.end());
  }

  /// Extents of the same symbols are assumed to be equal, such as n and min(n, 512) for a table that is cut to a
  /// sequence.
  bool may_differ(const Dim& a, const Dim& b) const {
    if (a.symbols() == b.symbols()) return false;
    const auto may_be_1 = [](const Dim& d) { return d.lower_bound().value_or(0) <= 1; };
    return is_input_bound(a) && is_input_bound(b) && (may_be_1(a) || may_be_1(b));
  }

  std::set<Dim> members(const Dim& d) const {
    const auto it = members_.find(d);
    return it == members_.end() ? std::set<Dim>{d} : it->second;
  }

  /// An extent that is never 1 is the result's extent. Otherwise the result's extent is the greatest one, except that 0
  /// and 1 give 0.
  static Dim extent_of(const std::set<Dim>& all) {
    Dim greatest = 0, least = 1;
    for (const Dim& d : all) {
      if (d.lower_bound().value_or(0) > 1) return d;
      greatest = max(greatest, d);
      least = min(least, d);
    }
    return greatest * least;
  }

  std::set<std::string> carried_;         // symbols that are known before the first step
  std::map<Dim, std::set<Dim>> members_;  // by joined extent: the extents that were joined
};

class Opener {
 public:
  explicit Opener(const Graph& graph) : out_(graph.clone()), joined_(out_) {}

  std::optional<OpenBroadcasts> run() {
    out_.constraints.clear();
    for (NodeId id : out_.order()) visit(id);
    std::erase_if(joined_.pairs, [&](const DimConstraint& p) { return is_required(p); });
    if (joined_.pairs.empty()) return std::nullopt;
    return OpenBroadcasts{std::move(out_), std::move(joined_.pairs)};
  }

 private:
  void visit(NodeId id) {
    const size_t known = out_.constraints.size();
    infer_node(out_, id, out_);
    if (out_.constraints.size() == known || !stretch_operands(id)) return;
    out_.constraints.resize(known);
    infer_node(out_, id, out_);
    std::ranges::move(facts_, std::back_inserter(out_.constraints));
    facts_.clear();
  }

  bool is_required(const DimConstraint& p) const {
    return std::any_of(out_.constraints.begin(), out_.constraints.end(), [&](const DimConstraint& c) {
      return (c.a == p.a && c.b == p.b) || (c.a == p.b && c.b == p.a);
    });
  }

  /// Stretches the operands of a node with facts about extents. Returns false if nothing changes.
  bool stretch_operands(NodeId id) {
    const OpDef* op = out_.node(id).op;
    if (op == &gcg::op("Expand")) return stretch_data(id);
    if (op == &gcg::op("Gemm")) return stretch_addend(id);
    if (op == &gcg::op("MatMul") || op == &gcg::op("MatMulInteger")) return stretch_all(id, 2, 2);
    // Blocks have fewer scales than elements, and these scales do not broadcast.
    if (op == &gcg::op("QuantizeLinear") || op == &gcg::op("DequantizeLinear")) return false;
    if (op == &gcg::op("RandomBits", "gart")) return false;  // its state is a vector of its own
    return op->kind == OpKind::pointwise && stretch_all(id, out_.node(id).inputs.size(), 0);
  }

  std::string reason(const Node& node) const { return concat(node.op->name, " '", node.name, "': broadcasting"); }

  /// The first `operands` inputs broadcast to each other, except in their last `fixed` dimensions.
  bool stretch_all(NodeId id, size_t operands, size_t fixed) {
    const std::string why = reason(out_.node(id));
    Shape result;
    for (size_t i = 0; i < operands; ++i) {
      const ValueId v = out_.node(id).inputs[i];
      if (v.valid()) join(result, *out_.value(v).shape, fixed, why);
    }
    bool changed = false;
    for (size_t i = 0; i < operands; ++i) {
      const ValueId v = out_.node(id).inputs[i];
      if (v.valid()) changed = stretch_input(id, i, result, fixed) || changed;
    }
    return changed;
  }

  /// Joins a shape without its last `fixed` dimensions into `result`.
  void join(Shape& result, const Shape& shape, size_t fixed, const std::string& why) {
    if (shape.size() <= fixed) return;
    const size_t count = shape.size() - fixed;
    if (count > result.size()) result.insert(result.begin(), count - result.size(), Dim(1));
    for (size_t d = 0; d < count; ++d) {
      Dim& at = result[result.size() - count + d];
      at = joined_.join(at, shape[d], why);
    }
  }

  /// Gives the input the extents of `result`; extents of 1 stay.
  bool stretch_input(NodeId id, size_t i, const Shape& result, size_t fixed) {
    Shape shape = *out_.value(out_.node(id).inputs[i]).shape;
    if (shape.size() <= fixed) return false;
    const size_t count = shape.size() - fixed;
    bool changed = false;
    for (size_t d = 0; d < count; ++d) {
      const Dim& to = result[result.size() - count + d];
      if (shape[d] == to || broadcasts(shape[d]) || !joined_.is_part(shape[d], to)) continue;
      shape[d] = to;
      changed = true;
    }
    if (changed) out_.node(id).inputs[i] = stretched(out_.node(id).name, out_.node(id).inputs[i], shape);
    return changed;
  }

  /// Replaces an Expand by the gart.Stretch itself.
  bool stretch_data(NodeId id) {
    Node& node = out_.node(id);
    const std::optional<std::vector<Dim>> target = known_dims(out_.value(node.inputs[1]));
    if (!target) return false;
    const size_t before = joined_.pairs.size();
    const ValueId x = node.inputs[0];
    Shape result;
    join(result, *out_.value(x).shape, 0, reason(node));
    join(result, *target, 0, reason(node));
    if (joined_.pairs.size() == before && result == *out_.value(node.outputs[0]).shape) return false;
    Node stretch = stretch_node(node.name, x, result);
    node.op = stretch.op;
    node.inputs = std::move(stretch.inputs);
    node.attributes = std::move(stretch.attributes);
    return true;
  }

  /// Only a Gemm's addend broadcasts; the product does not.
  bool stretch_addend(NodeId id) {
    const Node& node = out_.node(id);
    if (node.inputs.size() < 3 || !node.inputs[2].valid()) return false;
    const Shape product = *out_.value(node.outputs[0]).shape;
    Shape shape = *out_.value(node.inputs[2]).shape;
    bool changed = false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Dim& to = product[product.size() - shape.size() + d];
      const std::string why = reason(node);
      const Dim joined = joined_.join(to, shape[d], why);
      if (shape[d] == to || broadcasts(shape[d]) || !joined_.is_part(shape[d], joined)) continue;
      if (joined != to) facts_.push_back({joined, to, why});
      shape[d] = to;
      changed = true;
    }
    if (changed) {
      const ValueId c = stretched(node.name, node.inputs[2], shape);
      out_.node(id).inputs[2] = c;
    }
    return changed;
  }

  ValueId stretched(const std::string& name, ValueId x, const Shape& extents) {
    Node node = stretch_node(name, x, extents);
    Value y;
    y.name = out_.unique_name(out_.value(x).name);
    node.outputs = {out_.add_value(std::move(y))};
    const ValueId result = node.outputs[0];
    infer_node(out_, out_.add_node(std::move(node)), out_);
    return result;
  }

  Graph out_;
  JoinedExtents joined_;
  std::vector<DimConstraint> facts_;  // facts of the node that is visited
};

}  // namespace

std::optional<OpenBroadcasts> open_broadcasts(const Graph& graph) { return Opener(graph).run(); }

}  // namespace gcg
