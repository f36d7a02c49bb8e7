#include "compiler/kernel/block_products.h"

#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/machine.h"

namespace gcg {

int parts_of_factors(const Target& target) {
  return target.precision == Precision::fp16 || target.precision == Precision::bf16 ? 1 : 3;
}

bool multiplies_blocks(const Target& target, const BlockPacking& packing, const Dim& rows) {
  if (traits_of(target.device).multiplies_blocks) return true;
  constexpr int64_t kMostColumns = 16,
                    kReadTogether = 8;  // columns per tensor core product; weight rows that are read together
  const int64_t block = packing.block;
  const bool is_aligned = block >= packing.rows || block == 16 || block == 32 || block % 64 == 0;
  return machine_of(target).has_async_copies && (packing.bits == 4 || packing.bits == 8) && is_aligned &&
         packing.rows % kReadTogether == 0 && rows.is_constant() && rows.constant() >= 1 &&
         rows.constant() * parts_of_factors(target) <= kMostColumns;
}

}  // namespace gcg
