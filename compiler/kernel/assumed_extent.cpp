#include "compiler/kernel/assumed_extent.h"

#include <algorithm>

namespace gcg {

double assumed_value(const Dim& d) {
  SymbolValues values;
  for (const std::string& s : d.symbols()) values[s] = kAssumedExtent;
  return static_cast<double>(std::max<int64_t>(0, d.evaluate(values)));
}

}  // namespace gcg
