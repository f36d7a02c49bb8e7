#include "compiler/ops/launches.h"

#include <algorithm>
#include <iterator>

#include "compiler/ops/expansion.h"
#include "compiler/ops/ops.h"

namespace gcg {

const OpLaunches* launches_of(const OpDef& op) {
  static constexpr OpLaunches kAll[] = {
      {&op_CumProd, launches_cum_prod, sums_long_lines},
      {&op_CumSum, launches_cum_sum, sums_long_lines},
      {&op_Scatter, launches_scatter_elements, has_many_updates},
      {&op_ScatterElements, launches_scatter_elements, has_many_updates},
      {&op_ScatterND, launches_scatter_nd, has_many_updates},
      {&op_TopK, launches_top_k},
      {&op_gart_EqualSlices, launches_equal_slices},
      {&op_gart_Positions, launches_positions},
      {&op_gart_Suppress, launches_suppress},
  };
  const auto it = std::find_if(std::begin(kAll), std::end(kAll), [&](const OpLaunches& l) { return l.op == &op; });
  return it == std::end(kAll) ? nullptr : it;
}

}  // namespace gcg
