#include "codegen/cpu/loops/split_lines.h"

#include <algorithm>

#include "codegen/cpu/loops/point_work.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/machine.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kFewestRegisters = 8;  // the fewest registers of a row that counts as long

/// True if a row may begin anywhere in a cache line.
bool begins_anywhere(const Expr& address, const Axis& lane, int lanes) {
  const auto affine = as_affine(address);
  return !affine || !is_multiple(affine->base, lanes) ||
         std::any_of(affine->strides.begin(), affine->strides.end(),
                     [&](const auto& s) { return s.first != lane.id && !is_multiple(s.second, lanes); });
}

}  // namespace

bool stores_split_lines(const CpuTarget& target, const Stage& store, const Axis& lane, int lanes,
                        const std::vector<Operand>& operands) {
  const Operand& result = operands[static_cast<size_t>(store.operand)];
  const bool whole_lines = target.vector_bytes == kCacheLine && size_of(result.dtype) * lanes == kCacheLine;
  if (lane.id < 0 || !whole_lines || store.index.size() != 1 || is_data(store.index[0])) return false;
  const auto stride = address_stride(result, store.index, lane.id);
  const bool is_long = (lane.extent - kFewestRegisters * lanes).lower_bound().value_or(0) >= 0;
  return stride && stride->is(1) && is_long && !is_long_chain(store.value) &&
         begins_anywhere(store.index[0], lane, lanes);
}

}  // namespace gcg::cpu
