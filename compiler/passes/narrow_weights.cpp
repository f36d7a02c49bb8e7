#include "compiler/passes/narrow_weights.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/deferred_constants.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

constexpr int64_t kLeastElements = 1024;  // narrowing smaller constants saves nothing
constexpr float kModerate = 2048;         // a table with larger elements holds positions or limits

/// True if the node reads its input `i` element by element, in any stored type.
bool widens(const Node& n, size_t i) {
  if (n.op == &op_Gather || n.op == &op_gart_PackedRows) return i == 0;
  return i == 1 && (n.op == &op_gart_PackedMatMul || n.op == &op_gart_BlockedConv);
}

bool is_moderate(const Tensor& narrow) {
  const Tensor elements = narrow.computed();
  const auto widen = narrow.dtype() == DType::f16 ? f16_to_float : bf16_to_float;
  const std::span<const uint16_t> all = elements.as<uint16_t>();
  return std::all_of(all.begin(), all.end(), [&](uint16_t x) { return std::abs(widen(x)) <= kModerate; });
}

/// True if rounding to 16 bits loses, overall, no more than half a unit in the last place.
bool rounds_well(const TensorRef& wide, DType to) {
  if (const std::vector<TensorRef> exact = widened_from(wide, to); !exact.empty())
    return std::all_of(exact.begin(), exact.end(), [](const TensorRef& narrow) { return is_moderate(*narrow); });
  const Tensor t = wide->computed();
  const double unit = to == DType::f16 ? 0x1p-11 : 0x1p-8;
  double error = 0, whole = 0;
  for (const float x : t.as<float>()) {
    const float rounded = to == DType::f16 ? f16_to_float(float_to_f16(x)) : bf16_to_float(float_to_bf16(x));
    if (!(std::abs(x) <= kModerate)) return false;
    error += (double{rounded} - x) * (double{rounded} - x);
    whole += double{x} * x;
  }
  return error <= unit * unit * whole;
}

bool narrow(Graph& graph, DType to) {
  bool changed = false;
  const std::vector<std::vector<NodeId>> users = graph.users();
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) changed |= narrow(*body, to);
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    const ValueId v(i);
    Value& value = graph.value(v);
    const std::vector<NodeId>& readers = users[static_cast<size_t>(i)];
    if (!value.is_constant() || value.dtype != DType::f32 || readers.empty() || graph.is_output(v)) continue;
    const bool widened = std::all_of(readers.begin(), readers.end(), [&](NodeId id) {
      const Node& n = graph.node(id);
      for (size_t k = 0; k < n.inputs.size(); ++k)
        if (n.inputs[k] == v && !widens(n, k)) return false;
      return n.bodies.empty();
    });
    if (!widened || value.constant->elements() < kLeastElements || !rounds_well(value.constant, to)) continue;
    value.stored = to;
    changed = true;
  }
  return changed;
}

}  // namespace

bool narrow_weights(Graph& graph, const Target& target) {
  if (target.precision == Precision::fp16) return narrow(graph, DType::f16);
  if (target.precision == Precision::bf16) return narrow(graph, DType::bf16);
  return false;
}

}  // namespace gcg
