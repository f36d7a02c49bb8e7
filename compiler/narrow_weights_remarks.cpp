#include "compiler/narrow_weights_remarks.h"

#include <set>

#include "compiler/support/error.h"

namespace gcg {
namespace {

struct Narrowed {
  DType stored = DType::undefined;
  int64_t elements = 0, others = 0;  // of f32 constants in 16 bits, and of those that stay
  std::set<const Tensor*> seen;
};

void count(const Graph& graph, Narrowed& found) {
  for (NodeId id : graph.order()) {
    for (ValueId v : graph.node(id).inputs) {
      if (!v.valid() || !graph.value(v).is_constant()) continue;
      const Value& value = graph.value(v);
      if (value.dtype != DType::f32 || !found.seen.insert(value.constant.get()).second) continue;
      if (value.stored != DType::undefined) found.stored = value.stored;
      (value.stored == DType::undefined ? found.others : found.elements) += value.constant->elements();
    }
    for (const auto& body : graph.node(id).bodies) count(*body, found);
  }
}

std::string megabytes(int64_t bytes) { return concat(bytes / 1000000, ".", bytes / 100000 % 10, " MB"); }

}  // namespace

std::vector<std::string> narrow_weights_remarks(const Graph& graph) {
  Narrowed found;
  count(graph, found);
  if (found.elements == 0)
    return {"--precision has no effect: there are no weights of contractions that 16 bits hold well"};
  return {concat("weights of ", megabytes(4 * found.elements), " are stored as ", name_of(found.stored), " in ",
                 megabytes(2 * found.elements),
                 " and widened where they are multiplied; values and sums are f32, as are ",
                 megabytes(4 * found.others), " of other constants")};
}

}  // namespace gcg
