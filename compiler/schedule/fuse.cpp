#include "compiler/schedule/fuse.h"

#include <algorithm>
#include <map>

#include "compiler/kernel/expr.h"
#include "compiler/ops/attention_pattern.h"
#include "compiler/ops/op_def.h"
#include "compiler/schedule/fusion_costs.h"
#include "compiler/schedule/operand_view.h"

namespace gcg {

bool is_symbolic_content(const Value& value) { return value.contents.has_value() && !value.is_constant(); }

namespace {

using Group_ = Group::Kind;

class Fuser {
 public:
  Fuser(const Graph& graph, DeviceClass device) : g_(graph), device_(device), order_(graph.order()) {
    const auto n = static_cast<size_t>(g_.value_count());
    uses_.resize(n);
    out_.materialized.assign(n, false);
    out_.view_of.resize(n);
    for (size_t i = 0; i < n; ++i) out_.view_of[i] = ValueId(static_cast<int64_t>(i));
    node_group_.assign(static_cast<size_t>(g_.node_count()), -1);
  }

  Fusion run() {
    resolve_views();
    find_live();
    take_attentions();
    for (NodeId id : order_)
      if (live(id) && node_group_[static_cast<size_t>(id.index)] < 0 && (anchors_matmul(g_, g_.node(id)) || anchors_conv(g_.node(id)))) absorb_epilogue(id);
    for (ValueId v : g_.outputs) use(v).must = true;
    for (NodeId id : order_)
      if (live(id) && node(id).op == &op("BitCast")) use(node(id).inputs[0]).must = true;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it)
      if (live(*it)) decide(*it);
    own_outputs();
    return std::move(out_);
  }

 private:
  struct Use {
    bool must = false;               // needs storage whatever it costs
    std::set<int> groups;            // groups that would compute it on the fly
    std::set<int> contexts;          // loop nests it would be evaluated in (reduction passes are nests of their own)
    bool broadcast = false;          // some use reads an element several times
    bool in_epilogue = false;        // used in a contraction's epilogue
  };

  const Node& node(NodeId id) const { return g_.node(id); }
  const Value& value(ValueId id) const { return g_.value(id); }
  Use& use(ValueId v) { return uses_[static_cast<size_t>(out_.view_of[static_cast<size_t>(v.index)].index)]; }
  bool live(NodeId id) const { return live_.count(id) != 0; }
  /// Inputs whose elements a node really reads at run time.
  bool reads(ValueId v) const { return v.valid() && !value(v).is_constant() && !is_symbolic_content(value(v)); }

  void resolve_views() {
    for (NodeId id : order_) {
      const Node& n = node(id);
      if (n.op->kind != OpKind::view) continue;
      const ValueId in = n.inputs[0], v = n.outputs[0];
      if (!is_symbolic_content(value(v))) out_.view_of[static_cast<size_t>(v.index)] = out_.view_of[static_cast<size_t>(in.index)];
    }
  }

  void find_live() {
    std::vector<ValueId> stack(g_.outputs);
    for (NodeId id : order_) {
      if (node(id).op != &op("Bind", "gart")) continue;
      live_.insert(id);
      stack.insert(stack.end(), node(id).inputs.begin(), node(id).inputs.end());
    }
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      const NodeId p = value(v).producer;
      // A graph output that is a shape computation is produced from the symbols, not from its producer's inputs.
      if (!p.valid() || live(p)) continue;
      live_.insert(p);
      if (is_symbolic_content(value(v)) && node(p).outputs.size() == 1 && !is_control(node(p))) continue;
      for (ValueId in : node(p).inputs)
        if (in.valid() && (reads(in) || is_control(node(p)))) stack.push_back(in);
    }
  }

  /// Every graph output gets storage that is its alone; a copy where it is an input, a constant or given out already.
  void own_outputs() {
    std::set<ValueId> taken;
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      const ValueId v = g_.outputs[i], base = out_.view_of[static_cast<size_t>(v.index)];
      const bool computed = out_.materialized[static_cast<size_t>(base.index)];
      if (computed && taken.insert(base).second) continue;
      Group copy;
      copy.result = copy.storage = v;
      copy.output_copy = static_cast<int>(i);
      new_group(copy);
    }
  }

  int new_group(Group group) {
    out_.groups.push_back(std::move(group));
    return static_cast<int>(out_.groups.size()) - 1;
  }

  int fresh_context() { return next_context_++; }

  bool same_extents(ValueId a, ValueId b) const { return *value(a).shape == *value(b).shape; }

  // ---- attention ----------------------------------------------------------------------------------------------------

  void take_attentions() {
    const auto users = g_.users();
    for (NodeId id : order_)
      if (live(id) && anchors_attention(node(id)))
        if (auto attention = find_attention(g_, id, users)) take_attention(id, attention->nodes);
  }

  void take_attention(NodeId anchor, const std::set<NodeId>& inside) {
    const auto group = out_.groups.size();
    for (NodeId n : inside) node_group_[static_cast<size_t>(n.index)] = static_cast<int>(group);
    absorb_epilogue(anchor);
    out_.groups[group].kind = Group_::attention;
    out_.groups[group].inside = inside;
  }

  // ---- contractions -------------------------------------------------------------------------------------------------

  /// Follows the pointwise nodes behind a contraction as long as, in the end, one value leaves the set.
  void absorb_epilogue(NodeId anchor) {
    const ValueId out = node(anchor).outputs[0];
    std::vector<NodeId> chain, best;
    std::set<ValueId> inside = {out};
    ValueId result = out;
    const auto users = users_of();
    for (;;) {
      NodeId next = next_pointwise(inside, chain, users, node(anchor).on_host);
      if (!next.valid()) break;
      chain.push_back(next);
      inside.insert(node(next).outputs[0]);
      if (auto escaped = escaping(inside, users); escaped.size() == 1 && escaped[0] == node(next).outputs[0]) {
        best = chain;
        result = escaped[0];
      }
    }
    Group group;
    group.kind = anchors_conv(node(anchor)) ? Group_::conv : Group_::matmul;
    group.anchor = anchor;
    group.on_host = node(anchor).on_host;
    group.epilogue = best;
    if (NodeId t = row_keeping_transpose(result, users); t.valid() && node(t).on_host == group.on_host) {
      group.transpose = t;
      best.push_back(t);
      result = node(t).outputs[0];
    }
    group.result = group.storage = result;
    const int id = new_group(group);
    node_group_[static_cast<size_t>(anchor.index)] = id;
    for (NodeId n : best) node_group_[static_cast<size_t>(n.index)] = id;
    out_.materialized[static_cast<size_t>(result.index)] = true;
  }

  /// The Transpose that alone reads a product and leaves its rows (the last axis) in one piece: then the product can be
  /// stored in the transposed order at no cost.
  NodeId row_keeping_transpose(ValueId v, const std::vector<std::vector<NodeId>>& users) const {
    const auto& us = users[static_cast<size_t>(v.index)];
    if (us.size() != 1 || g_.is_output(v) || !is_transpose(node(us[0]))) return NodeId();
    const auto perm = node(us[0]).ints_attribute("perm");
    return !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1 ? us[0] : NodeId();
  }

  const std::vector<std::vector<NodeId>>& users_of() {
    if (users_.empty() && g_.value_count() > 0) {
      users_.resize(static_cast<size_t>(g_.value_count()));
      for (NodeId id : order_)
        if (live(id))
          for (ValueId in : node(id).inputs)
            if (in.valid()) users_[static_cast<size_t>(in.index)].push_back(id);
    }
    return users_;
  }

  NodeId next_pointwise(const std::set<ValueId>& inside, const std::vector<NodeId>& chain,
                        const std::vector<std::vector<NodeId>>& users, bool on_host) {
    for (ValueId v : inside)
      for (NodeId u : users[static_cast<size_t>(v.index)]) {
        const Node& n = node(u);
        if (std::find(chain.begin(), chain.end(), u) != chain.end()) continue;
        if (n.op->kind != OpKind::pointwise || n.outputs.size() != 1 || node_group_[static_cast<size_t>(u.index)] >= 0) continue;
        if (n.on_host != on_host) continue;
        if (!same_extents(n.outputs[0], v) || value(n.outputs[0]).dtype != DType::f32) continue;
        const bool floats = std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
          return !in.valid() || value(in).dtype == DType::f32 || value(in).dtype == DType::boolean;
        });
        // Every input is the set's own or ready before it: an input that depends on the set would leave it and come back,
        // which escaping() finds out.
        if (floats) return u;
      }
    return NodeId();
  }

  std::vector<ValueId> escaping(const std::set<ValueId>& inside, const std::vector<std::vector<NodeId>>& users) const {
    std::vector<ValueId> out;
    for (ValueId v : inside) {
      const auto& us = users[static_cast<size_t>(v.index)];
      const bool leaves = g_.is_output(v) || std::any_of(us.begin(), us.end(), [&](NodeId u) {
        return node(u).outputs.empty() || !inside.count(node(u).outputs[0]);
      });
      if (leaves) out.push_back(v);
    }
    return out;
  }

  void decide_contraction(NodeId id, const Group& group) {
    const Node& anchor = node(group.anchor);
    if (id == group.transpose) return;
    const bool multiplies = id == group.anchor || (group.inside.count(id) != 0 && anchors_matmul(g_, node(id)));
    if (!multiplies) {  // its other inputs are read at every element
      for (ValueId in : node(id).inputs) {
        if (!reads(in) || node_group_of(in) == node_group_[static_cast<size_t>(id.index)]) continue;
        Use& u = use(in);
        u.groups.insert(node_group_[static_cast<size_t>(id.index)]);
        u.contexts.insert(0);
        u.in_epilogue = true;
        u.broadcast |= !(product(*value(in).shape) == product(*value(node(id).outputs[0]).shape));
      }
      return;
    }
    for (int i = 0; i < static_cast<int>(node(id).inputs.size()); ++i) {
      const ValueId in = node(id).inputs[static_cast<size_t>(i)];
      if (!in.valid() || value(in).is_constant()) continue;
      if (group.kind == Group_::attention && node_group_of(in) == node_group_[static_cast<size_t>(id.index)]) continue;
      const ValueId source = anchors_conv(anchor) ? in : strided_source(g_, in, anchor.on_host);
      out_.operand_sources[{id, i}] = source;
      use(source).must = true;
    }
  }

  int node_group_of(ValueId v) const {
    const NodeId p = value(v).producer;
    return p.valid() ? node_group_[static_cast<size_t>(p.index)] : -1;
  }

  // ---- everything else ------------------------------------------------------------------------------------------------

  void decide(NodeId id) {
    const Node& n = node(id);
    if (const int group = node_group_[static_cast<size_t>(id.index)]; group >= 0)
      return decide_contraction(id, out_.groups[static_cast<size_t>(group)]);
    if (is_control(n)) return decide_control(id);
    for (ValueId v : n.outputs) {
      if (!v.valid()) continue;
      if (out_.view_of[static_cast<size_t>(v.index)] != v) continue;  // a view: its uses were recorded on what it views
      decide_value(n, v);
    }
  }

  void decide_control(NodeId id) {
    const Node& n = node(id);
    Group group;
    group.kind = Group_::control;
    group.anchor = id;
    new_group(group);
    for (ValueId v : n.outputs)
      if (v.valid()) out_.materialized[static_cast<size_t>(v.index)] = true;
    for (ValueId in : n.inputs)
      if (in.valid() && !value(in).is_constant()) use(in).must = true;
  }

  void decide_value(const Node& n, ValueId v) {
    Use& u = use(v);
    if (!u.must && u.groups.empty()) return;  // nobody reads it
    if (is_concat(n) && !gathers_parts(n)) return materialize_concat(n, v);
    if (u.must || is_read_elsewhere(n, u) || !inlines(n, v, u)) {
      Group group;
      group.result = group.storage = v;
      group.on_host = n.on_host;
      u.groups = {new_group(group)};
      u.contexts = {0};
      u.broadcast = u.in_epilogue = false;
      out_.materialized[static_cast<size_t>(v.index)] = true;
    }
    record_inputs(n, v, u);
  }

  bool is_read_elsewhere(const Node& n, const Use& u) const {
    return std::any_of(u.groups.begin(), u.groups.end(),
                       [&](int g) { return out_.groups[static_cast<size_t>(g)].on_host != n.on_host; });
  }

  /// A launch per part is dear on a GPU: where several parts would be copied, one kernel reads them all, and it may be the
  /// Concat's reader.
  bool gathers_parts(const Node& n) {
    constexpr size_t kMostParts = 32;  // as many branches per element
    if (device_ != DeviceClass::cuda || n.on_host || n.inputs.size() > kMostParts) return false;
    return std::count_if(n.inputs.begin(), n.inputs.end(), [&](ValueId in) { return !is_direct(in, n); }) >= 2;
  }

  /// A Concat has storage; each part is written into it by a group of its own, which is where fusion goes on.
  void materialize_concat(const Node& n, ValueId v) {
    out_.materialized[static_cast<size_t>(v.index)] = true;
    const int64_t rank = static_cast<int64_t>(value(v).shape->size());
    int64_t axis = n.int_attribute("axis", 0);
    if (axis < 0) axis += rank;
    Dim offset(0);
    for (ValueId in : n.inputs) {
      Group part;
      part.result = in;
      part.storage = v;
      part.concat_axis = static_cast<int>(axis);
      part.concat_offset = offset;
      part.on_host = n.on_host;
      offset = offset + (*value(in).shape)[static_cast<size_t>(axis)];
      if (value(in).is_constant() || is_symbolic_content(value(in)) || !direct_part(in, n, part)) {
        const int group = new_group(part);
        if (!reads(in)) continue;
        Use& u = use(in);
        u.groups.insert(group);
        u.contexts.insert(0);
      }
    }
  }

  /// A contraction whose only reader is a Concat writes straight into it.
  bool is_direct(ValueId in, const Node& concat) {
    const int g = node_group_of(in);
    if (g < 0 || out_.groups[static_cast<size_t>(g)].on_host != concat.on_host) return false;
    if (out_.groups[static_cast<size_t>(g)].result != in || g_.is_output(in)) return false;
    return users_of()[static_cast<size_t>(in.index)].size() == 1;
  }

  bool direct_part(ValueId in, const Node& concat, const Group& part) {
    if (!is_direct(in, concat)) return false;
    Group& group = out_.groups[static_cast<size_t>(node_group_of(in))];
    group.storage = part.storage;
    group.concat_axis = part.concat_axis;
    group.concat_offset = part.concat_offset;
    out_.materialized[static_cast<size_t>(in.index)] = false;
    return true;
  }

  bool inlines(const Node& n, ValueId v, const Use& u) {
    if (n.op->kind == OpKind::contraction) return false;
    if (is_concat(n)) return u.groups.size() == 1 && u.contexts.size() == 1 && !u.broadcast && !u.in_epilogue;
    const bool cheap = is_cheap(n);
    const bool scalar = product(*value(v).shape).is(1) && n.op->kind != OpKind::reduction;
    if (u.in_epilogue && !cheap && !(scalar && cost(n) <= 1)) return false;
    if (u.groups.size() > 1) return cheap;
    const Group& group = out_.groups[static_cast<size_t>(*u.groups.begin())];
    if (n.op->kind == OpKind::reduction) return reduction_fits(v, group, *u.groups.begin());
    if (u.broadcast && !cheap && !scalar && !row_value_.count(v) && !depends_on_row(n, *u.groups.begin())) return false;
    return cost(n) * static_cast<double>(u.contexts.size()) <= cost(n) + 6;
  }

  /// Does some input of `n` come from a reduction that may join this group, so that `n` is a per-row scalar?
  bool depends_on_row(const Node& n, int group) {
    for (ValueId in : n.inputs) {
      if (!reads(in)) continue;
      const NodeId p = value(out_.view_of[static_cast<size_t>(in.index)]).producer;
      if (!p.valid() || node_group_[static_cast<size_t>(p.index)] >= 0) continue;
      const Node& producer = node(p);
      if (producer.op->kind == OpKind::reduction && row_shaped(producer.outputs[0], out_.groups[static_cast<size_t>(group)].result))
        return true;
      if (producer.op->kind == OpKind::pointwise && row_shaped(producer.outputs[0], out_.groups[static_cast<size_t>(group)].result) &&
          depends_on_row(producer, group))
        return true;
    }
    return false;
  }

  /// `v` has the extents of `result` with one or more trailing ones instead.
  bool row_shaped(ValueId v, ValueId result) const {
    const Shape &o = *value(v).shape, &r = *value(result).shape;
    if (o.size() != r.size() || o.empty()) return false;
    size_t i = 0;
    while (i < o.size() && o[i] == r[i]) ++i;
    return i < o.size() && std::all_of(o.begin() + static_cast<int64_t>(i), o.end(), [](const Dim& d) { return d.is(1); });
  }

  /// A reduction joins a group if its result is computed once per row of the group, or element for element.
  bool reduction_fits(ValueId v, const Group& group, int id) {
    const ValueId result = group.result;
    if (group.kind != Group_::loop) return false;
    auto& rows = group_rows_[id];
    if (row_shaped(v, result) && (!rows || *rows == *value(v).shape) && !group_elementwise_reduction_.count(id)) {
      rows = *value(v).shape;
      row_value_.insert(v);
      return true;
    }
    if (product(*value(v).shape) == product(*value(result).shape) && !rows && !group_elementwise_reduction_.count(id) &&
        uses_[static_cast<size_t>(v.index)].contexts.size() == 1 && !uses_[static_cast<size_t>(v.index)].broadcast) {
      group_elementwise_reduction_.insert(id);
      return true;
    }
    return false;
  }

  void record_inputs(const Node& n, ValueId v, const Use& u) {
    const bool reduction = n.op->kind == OpKind::reduction || n.op->kind == OpKind::contraction;
    std::set<int> contexts;
    if (reduction)
      for (int i = 0; i < passes(n); ++i) contexts.insert(fresh_context());
    if (!reduction || passes(n) == 3) contexts.insert(u.contexts.begin(), u.contexts.end());
    const std::set<int> groups = u.groups;
    for (ValueId in : n.inputs) {
      if (!reads(in)) continue;
      Use& i = use(in);
      i.groups.insert(groups.begin(), groups.end());
      i.contexts.insert(contexts.begin(), contexts.end());
      if (n.op->kind == OpKind::pointwise) i.broadcast |= !(product(*value(in).shape) == product(*value(v).shape));
      i.in_epilogue |= u.in_epilogue && !out_.materialized[static_cast<size_t>(v.index)];
    }
  }

  const Graph& g_;
  DeviceClass device_;
  std::vector<NodeId> order_;
  std::set<NodeId> live_;
  std::vector<Use> uses_;                       // by the value that a use's value views
  std::vector<std::vector<NodeId>> users_;
  std::vector<int> node_group_;                 // contraction group of a node, or -1
  std::map<int, std::optional<Shape>> group_rows_;
  std::set<int> group_elementwise_reduction_;
  std::set<ValueId> row_value_;
  int next_context_ = 1;
  Fusion out_;
};

}  // namespace

Fusion fuse(const Graph& graph, DeviceClass device) { return Fuser(graph, device).run(); }

}  // namespace gcg
