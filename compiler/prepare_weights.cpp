#include "compiler/prepare_weights.h"

#include <optional>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/ops/packing.h"
#include "compiler/ops/node_builder.h"
#include "compiler/weights_section.h"

namespace gcg {
namespace {

/// A kernel at load is not worth it for less; what is smaller is stored twice.
constexpr int64_t kLeastBytes = 16 << 10;

/// What the elements were before anybody put them in order.
TensorRef root_of(const TensorRef& tensor) {
  TensorRef t = tensor;
  while (t->rearrangement()) t = t->rearrangement()->source;
  return t;
}

/// Those that kernels on such devices read.
std::vector<TensorRef> constants_of(const std::vector<ShapePlan>& plans, DeviceClass device) {
  std::vector<TensorRef> out;
  for (const ShapePlan& plan : plans)
    for (const Buffer& b : plan.schedule.buffers)
      if (b.constant && (b.on_host ? DeviceClass::cpu : plan.device) == device) out.push_back(b.constant);
  return out;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

/// Nodes that undo and redo rearrangements of constants.
class Rearranger {
 public:
  explicit Rearranger(Graph& graph) : b_(graph, "weights") {}

  ValueId constant(const Tensor& tensor) { return b_.constant(tensor); }

  /// The root's elements from those of `stored`; none if a step cannot be undone.
  std::optional<ValueId> undo(const TensorRef& stored) {
    ValueId value = constant(*stored);
    for (TensorRef t = stored; t->rearrangement(); t = t->rearrangement()->source) {
      const auto before = undo(*t->rearrangement(), t->shape(), value);
      if (!before) return std::nullopt;
      value = *before;
    }
    return value;
  }

  /// `wanted`'s elements from its root's; none if a device cannot do a step.
  std::optional<ValueId> redo(const TensorRef& wanted, ValueId root) {
    if (!wanted->rearrangement()) return root;
    const Rearrangement& r = *wanted->rearrangement();
    if (r.op != &op("Transpose") && r.op != &op("Cast")) return std::nullopt;
    const auto source = redo(r.source, root);
    if (!source) return std::nullopt;
    return b_.node(r.op->name, {*source}, r.attributes);
  }

 private:
  std::optional<ValueId> undo(const Rearrangement& r, const std::vector<int64_t>& packed, ValueId value) {
    const std::vector<int64_t>& shape = r.source->shape();
    if (r.op == &op("Transpose")) return untransposed(r, value);
    if (r.op == &op("PackMatMul", "gart")) return unblocked(value, {1, 0, 2}, {packed[1], packed[0] * packed[2]}, shape);
    return unpacked_conv(r, packed, value);
  }

  ValueId untransposed(const Rearrangement& r, ValueId value) {
    const auto* perm = &std::get<std::vector<int64_t>>(r.attributes.at("perm"));
    std::vector<int64_t> inverse(perm->size());
    for (size_t i = 0; i < perm->size(); ++i) inverse[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
    return b_.transpose(value, inverse);
  }

  /// See gart.PackConv (compiler/ops/packing.cpp) for the layouts.
  ValueId unpacked_conv(const Rearrangement& r, const std::vector<int64_t>& p, ValueId value) {
    const std::vector<int64_t>& shape = r.source->shape();
    const auto is = [&](const char* flag) {
      const auto it = r.attributes.find(flag);
      return it != r.attributes.end() && std::get<int64_t>(it->second) != 0;
    };
    if (is("depthwise")) return unblocked(value, {0, 3, 1, 2}, {p[0] * p[3], 1, p[1], p[2]}, shape);
    if (is("plain")) return unblocked(value, {0, 4, 1, 2, 3}, {p[0] * p[4], p[1], p[2], p[3]}, shape);
    return unblocked(value, {0, 5, 1, 4, 2, 3}, {p[0] * p[5], p[1] * p[4], p[2], p[3]}, shape);
  }

  /// Blocks side by side, then without the padding.
  ValueId unblocked(ValueId value, std::vector<int64_t> perm, std::vector<int64_t> padded, const std::vector<int64_t>& shape) {
    value = b_.node("Reshape", {b_.transpose(value, std::move(perm)), b_.ints(padded)});
    for (size_t d = 0; d < shape.size(); ++d)
      if (padded[d] != shape[d]) value = b_.slice(value, static_cast<int64_t>(d), 0, shape[d]);
    return value;
  }

  NodeBuilder b_;
};

/// The plan that makes the outputs of `graph` from constants.
ShapePlan plan_at_load(Graph& graph) {
  infer_graph(graph);
  ShapePlan plan{DeviceClass::cuda, {}, make_schedule(graph), true};
  plan_memory(plan.schedule, {});
  verify_schedule(plan.schedule);
  return plan;
}

}  // namespace

PreparedWeights prepare_weights(std::vector<ShapePlan>& plans) {
  PreparedWeights prepared;
  std::map<TensorRef, TensorRef> stored;  // by their roots
  std::set<TensorRef> direct;             // read by the CPU as they are
  for (const TensorRef& t : constants_of(plans, DeviceClass::cpu)) {
    stored.emplace(root_of(t), t);
    direct.insert(t);
  }
  Graph graph;
  graph.name = "at_load";
  Rearranger rearranger(graph);
  WeightsSection region;
  for (const TensorRef& wanted : constants_of(plans, DeviceClass::cuda)) {
    const auto it = stored.find(root_of(wanted));
    if (it == stored.end() || direct.count(wanted) || wanted->bytes() < kLeastBytes || same_bytes(*wanted, *it->second)) continue;
    const auto root = rearranger.undo(it->second);
    const auto value = root ? rearranger.redo(wanted, *root) : std::nullopt;
    if (!value) continue;
    const uint64_t place = region.place(wanted);
    prepared.places.emplace(wanted.get(), place);
    if (!prepared.outputs.empty() && place <= prepared.outputs.back()) continue;  // of another plan, the same
    prepared.outputs.push_back(place);
    graph.outputs.push_back(*value);
  }
  if (graph.outputs.empty()) return prepared;
  prepared.bytes = region.take().size();
  plans.push_back(plan_at_load(graph));
  return prepared;
}

}  // namespace gcg
