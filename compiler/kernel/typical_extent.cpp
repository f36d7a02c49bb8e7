#include "compiler/kernel/typical_extent.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace gcg {

double typical(const Dim& extent, int64_t value) {
  SymbolValues values;
  for (const std::string& s : extent.symbols()) values[s] = value;
  try {
    return static_cast<double>(std::max<int64_t>(1, extent.evaluate(values)));
    // 64 bits overflow, or a divisor is zero: real values of the symbols differ from the typical one.
  } catch (const CompileError&) {
    return static_cast<double>(value);
  }
}

}  // namespace gcg
