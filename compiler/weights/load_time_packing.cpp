#include "compiler/weights/load_time_packing.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/ir/deferred.h"
#include "compiler/kernel/device_traits.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/plan/make_plan.h"
#include "compiler/weights/constant_roots.h"

namespace gcg {
namespace {

/// Smaller constants are stored in every layout and type, because making them by a kernel at load costs more than it
/// saves.
constexpr int64_t kLeastBytes = 16 << 10;

/// True if weight relayout at load may make constants of the plan.
bool takes_packed(const Plan& plan) { return !traits_of(plan.device).reads_mapped_weights; }

/// `packed`: the constants of the plans that takes_packed accepts. Otherwise: the constants of all other plans.
std::vector<TensorRef> constants_of(const std::vector<Plan>& plans, bool packed) {
  std::vector<TensorRef> out;
  for (const Plan& plan : plans)
    for (const Buffer& b : plan.buffers)
      if (b.kind == Buffer::Kind::constant && takes_packed(plan) == packed) out.push_back(b.constant);
  return out;
}

bool is_rounded(const Tensor& t) {
  if (!t.rearrangement()) return false;
  return t.rearrangement()->op == &op("Cast") || is_rounded(*t.rearrangement()->source);
}

int steps_from_root(const Tensor& t) { return t.rearrangement() ? 1 + steps_from_root(*t.rearrangement()->source) : 0; }

/// True if every step from the root to `t` is one of these operators.
bool consists_of(const Tensor& t, const std::set<const OpDef*>& steps) {
  return !t.rearrangement() ||
         (steps.count(t.rearrangement()->op) != 0 && consists_of(*t.rearrangement()->source, steps));
}

/// True if kernels can make `derived` from `stored`, which has the same root. A rounded `stored` must have the type of
/// `derived`. The order of rounding and moving elements does not matter.
bool can_make(const Tensor& derived, const Tensor& stored) {
  static const std::set<const OpDef*> redone = {&op("Transpose"), &op("Cast")};
  static const std::set<const OpDef*> undone = {&op("Transpose"), &op("Cast"), &op("PackMatMul", "gart"),
                                                &op("PackConv", "gart")};
  const bool quads = size_of(stored.dtype()) == 1;  // the relayout cannot unpack bytes in VNNI groups
  return consists_of(derived, redone) && consists_of(stored, quads ? redone : undone) &&
         (!is_rounded(stored) || stored.dtype() == derived.dtype());
}

/// The constants that the file holds: all constants that CPUs read, and one layout of every other root.
class StoredConstants {
 public:
  explicit StoredConstants(const std::vector<Plan>& plans) {
    for (const TensorRef& t : constants_of(plans, false)) {
      read_by_cpu_.insert(t.get());
      offer(t);
    }
    for (const TensorRef& t : constants_of(plans, true)) offer(t);
  }

  /// The stored constant that equals `derived` or from which it can be made; null if `derived` is stored itself.
  TensorRef source_for(const TensorRef& derived) {
    if (derived->bytes() < kLeastBytes || read_by_cpu_.count(derived.get()) != 0) return nullptr;
    const TensorRef& source = sources_.at(roots_.of(derived));
    return can_make(*derived, *source) ? source : nullptr;
  }

 private:
  /// The cost of a source. The best source is one from which all others can be made. Next comes one that is stored
  /// anyway, then one that needs few steps.
  auto cost(const TensorRef& t) const {
    return std::tuple(is_rounded(*t), read_by_cpu_.count(t.get()) == 0, steps_from_root(*t));
  }
  void offer(const TensorRef& t) {
    TensorRef& source = sources_[roots_.of(t)];
    if (!source || cost(t) < cost(source)) source = t;
  }

  ConstantRoots roots_;
  std::set<const Tensor*> read_by_cpu_;
  std::map<TensorRef, TensorRef> sources_;  // by roots
};

/// Nodes that undo and redo rearrangements of constants.
class Rearranger {
 public:
  explicit Rearranger(Graph& graph) : b_(graph, "weights") {}

  /// Makes the elements of `derived` from the elements of `stored`; see can_make.
  ValueId make(const TensorRef& derived, const TensorRef& stored) {
    const std::vector<int64_t>& shape = source_of_all(derived)->shape();
    ValueId value = undo(stored);
    if (source_of_all(stored)->shape() != shape) value = b_.node("Reshape", {value, b_.ints(shape)});
    return redo(*derived, value, is_rounded(*stored));
  }

 private:
  /// Restores the root's order, in the type of `stored`.
  ValueId undo(const TensorRef& stored) {
    ValueId value = b_.constant(*stored);
    for (TensorRef t = stored; t->rearrangement(); t = t->rearrangement()->source) {
      const Rearrangement& r = *t->rearrangement();
      if (r.op == &op("Transpose")) value = untransposed(r, value);
      if (r.op == &op("PackMatMul", "gart")) value = unpacked_matrix(r, t->shape(), value);
      if (r.op == &op("PackConv", "gart")) value = unpacked_conv(r, t->shape(), value);
    }
    return value;
  }

  ValueId redo(const Tensor& derived, ValueId root, bool rounded) {
    if (!derived.rearrangement()) return root;
    const Rearrangement& r = *derived.rearrangement();
    const ValueId source = redo(*r.source, root, rounded);
    return rounded && r.op == &op("Cast") ? source : b_.node(r.op->name, {source}, r.attributes);
  }

  ValueId untransposed(const Rearrangement& r, ValueId value) {
    const auto* perm = &std::get<std::vector<int64_t>>(r.attributes.at("perm"));
    std::vector<int64_t> inverse(perm->size());
    for (size_t i = 0; i < perm->size(); ++i) inverse[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
    return b_.transpose(value, inverse);
  }

  ValueId unpacked_matrix(const Rearrangement& r, const std::vector<int64_t>& p, ValueId value) {
    return unblocked(value, {1, 0, 2}, {p[1], p[0] * p[2]}, r.source->shape());
  }

  /// Inverts ConvPacking: panels, units, kernel..., channels of a unit, columns of a panel.
  ValueId unpacked_conv(const Rearrangement& r, const std::vector<int64_t>& p, ValueId value) {
    const auto rank = static_cast<int64_t>(p.size());
    std::vector<int64_t> perm = {0, rank - 1, 1, rank - 2}, padded = {p[0] * p.back(), p[1] * p[p.size() - 2]};
    for (int64_t d = 2; d < rank - 2; ++d) {
      perm.push_back(d);
      padded.push_back(p[static_cast<size_t>(d)]);
    }
    return unblocked(value, perm, padded, r.source->shape());
  }

  /// Joins the blocks, then removes the padding.
  ValueId unblocked(ValueId value, std::vector<int64_t> perm, std::vector<int64_t> padded,
                    const std::vector<int64_t>& shape) {
    value = b_.node("Reshape", {b_.transpose(value, std::move(perm)), b_.ints(padded)});
    for (size_t d = 0; d < shape.size(); ++d)
      if (padded[d] != shape[d]) value = b_.slice(value, static_cast<int64_t>(d), 0, shape[d]);
    return value;
  }

  NodeBuilder b_;
};

/// The weights that GPUs keep in another order or type than the file, in a region that is written at load.
struct Region {
  std::map<const Tensor*, uint64_t> places;
  std::vector<TensorRef> tensors;  // the tensor at each offset, in order
  uint64_t bytes = 0;

  /// Gives the buffer the offset of its contents in the region.
  void take(Buffer& b, const TensorRef& contents) const {
    b.kind = Buffer::Kind::packed;
    b.index = 0;
    b.constant = contents;
    b.packed_at = places.at(contents.get());
  }
};

/// The plan that makes the outputs of `graph` from constants.
Plan packing_plan(Graph& graph, const Region& region) {
  infer_graph(graph);
  Plan plan = make_plan(graph);
  plan.is_load_time_packing = true;
  plan.packed_bytes = region.bytes;
  for (Buffer& b : plan.buffers)
    if (b.kind == Buffer::Kind::output) region.take(b, region.tensors[static_cast<size_t>(b.index)]);
  return plan;
}

/// Adds one packing plan for each GPU.
void add_packing_plans(std::vector<Plan>& plans, Graph& graph, const Region& region) {
  std::map<int, DeviceClass> targets;
  for (Plan& plan : plans) {
    if (!takes_packed(plan)) continue;
    targets.emplace(plan.target, plan.device);
    plan.packed_bytes = region.bytes;
    for (Buffer& b : plan.buffers)
      if (b.kind == Buffer::Kind::constant && region.places.count(b.constant.get()) != 0) region.take(b, b.constant);
  }
  const Plan packing = packing_plan(graph, region);
  for (const auto& [target, device] : targets) {
    plans.emplace_back(packing).target = target;
    plans.back().device = device;
  }
}

}  // namespace

std::set<const Tensor*> plan_load_time_packing(std::vector<Plan>& plans) {
  if (std::none_of(plans.begin(), plans.end(), takes_packed)) return {};
  std::set<const Tensor*> sources;
  StoredConstants stored(plans);
  Graph graph;
  graph.name = "load_time_packing";
  Rearranger rearranger(graph);
  WeightsSection section;
  Region region;
  std::vector<std::pair<const Tensor*, const Tensor*>> same;
  for (const TensorRef& derived : constants_of(plans, true)) {
    const TensorRef source = stored.source_for(derived);
    if (!source) continue;
    if (same_elements(*derived, *source)) {
      same.emplace_back(derived.get(), source.get());
      continue;
    }
    const uint64_t place = section.place(derived);
    region.places.emplace(derived.get(), place);
    if (!region.tensors.empty() && place <= region.places.at(region.tensors.back().get()))
      continue;  // another plan already has this constant
    region.tensors.push_back(derived);
    sources.insert(source.get());
    graph.outputs.push_back(rearranger.make(derived, source));
  }
  if (graph.outputs.empty()) return {};
  for (const auto& [tensor, source] : same)
    if (sources.count(source) != 0) sources.insert(tensor);
  region.bytes = section.bytes();
  add_packing_plans(plans, graph, region);
  return sources;
}

WeightsSection place_weights(const std::vector<Plan>& plans, const std::set<const Tensor*>& sources) {
  WeightsSection weights;
  const auto place = [&](const auto& is_wanted) {
    for (const Plan& plan : plans)
      for (const Buffer& b : plan.buffers)
        if (b.kind == Buffer::Kind::constant && is_wanted(plan, b)) weights.place(b.constant, b.name);
  };
  const auto is_for_gpu = [](const Plan& p) { return takes_packed(p) && !p.is_load_time_packing; };
  const auto is_source = [&](const Buffer& b) { return sources.count(b.constant.get()) != 0; };
  place([&](const Plan& p, const Buffer& b) { return is_for_gpu(p) && !is_source(b); });
  place([&](const Plan& p, const Buffer&) { return is_for_gpu(p); });
  place([&](const Plan&, const Buffer& b) { return is_source(b); });
  place([&](const Plan&, const Buffer&) { return true; });
  return weights;
}

}  // namespace gcg
