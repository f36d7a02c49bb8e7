#include "compiler/shape_remarks.h"

#include "compiler/support/error.h"

namespace gcg {

std::vector<std::string> shape_remarks(const Graph& graph) {
  constexpr size_t kMost = 4;
  std::vector<std::string> remarks;
  size_t more = 0;
  for (const DimConstraint& fact : graph.constraints) {
    if (!fact.reason.ends_with(": broadcasting") || fact.a.is_constant() || fact.b.is_constant()) continue;
    if (remarks.size() == kMost) {
      ++more;
      continue;
    }
    remarks.push_back(concat(fact.reason, ": the extents ", fact.a.str(), " and ", fact.b.str(),
                             " are taken to be equal: a run where only one of them is 1 is refused"));
  }
  if (more > 0) remarks.push_back(concat(more, " more pairs of extents are taken to be equal"));
  return remarks;
}

}  // namespace gcg
