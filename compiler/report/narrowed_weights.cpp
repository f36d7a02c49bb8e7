#include "compiler/report/narrowed_weights.h"

#include <set>

namespace gcg {
namespace {

void add(const Graph& graph, std::set<const Tensor*>& seen, NarrowedWeights& sum) {
  for (NodeId id : graph.order()) {
    for (ValueId v : graph.node(id).inputs) {
      if (!v.valid() || !graph.value(v).is_constant()) continue;
      const Value& value = graph.value(v);
      if (value.dtype != DType::f32 || !seen.insert(value.constant.get()).second) continue;
      if (value.stored == DType::undefined) {
        sum.others += value.constant->bytes();
        continue;
      }
      sum.type = name_of(value.stored);
      sum.before += value.constant->bytes();
      sum.after += value.constant->bytes() / 2;
    }
    for (const auto& body : graph.node(id).bodies) add(*body, seen, sum);
  }
}

}  // namespace

NarrowedWeights narrowed_weights(const Graph& graph) {
  NarrowedWeights sum;
  std::set<const Tensor*> seen;
  add(graph, seen, sum);
  return sum;
}

}  // namespace gcg
