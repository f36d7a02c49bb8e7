#include "compiler/passes/count_in_integers.h"

#include <cmath>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

constexpr double kMostExact = 1 << 24;  // f32 represents all integers up to this one
constexpr int64_t kOnnxInt64 = 7;

/// The scalar as i64. Invalid if it may have a fraction.
ValueId as_integer(Rewriter& r, ValueId v, const std::string& name) {
  if (const Tensor* constant = r.constant(v)) {
    const double number = constant->at_double(0);
    if (std::abs(number) > kMostExact || number != std::floor(number)) return ValueId();
    Tensor t(DType::i64, {});
    t.set_int(0, static_cast<int64_t>(number));
    return r.add_constant(name, std::move(t));
  }
  const Node* cast = r.producer(v, op_Cast);
  if (!cast || !is_int(r.value(cast->inputs[0]).dtype)) return ValueId();
  return r.add(op_Cast, name, {cast->inputs[0]}, {{"to", kOnnxInt64}});
}

bool rewrite_range(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId y = r.graph.node(id).outputs[0];
  const DType dtype = r.value(y).dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return false;
  const std::vector<ValueId> floats = r.graph.node(id).inputs;
  std::vector<ValueId> integers;
  for (ValueId v : floats) integers.push_back(as_integer(r, v, name));
  for (ValueId v : integers)
    if (!v.valid()) return false;
  const ValueId counted = r.add(op_Range, name, integers);
  if (!r.replace(y, r.add(op_Cast, name, {counted}, {{"to", int64_t{dtype_to_onnx(dtype)}}}))) return false;
  r.erase_if_dead(id);
  return true;
}

}  // namespace

bool count_in_integers(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (NodeId id : r.graph.order())
      if (r.graph.node(id).op == &op_Range) any |= rewrite_range(r, id);
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
