#include "compiler/kernel/typical_extent.h"

#include <algorithm>

namespace gcg {

double typical(const Dim& extent) {
  SymbolValues values;
  for (const std::string& s : extent.symbols()) values[s] = kTypicalExtent;
  return static_cast<double>(std::max<int64_t>(1, extent.evaluate(values)));
}

}  // namespace gcg
