// Values of symbols, learnt from the shapes that tensors turn out to have.
#pragma once

#include <string>

#include "compiler/ir/dim.h"

namespace gcg {

/// Makes `dim` equal `value`: learns the value of the only unknown symbol if `dim` is linear in it, else compares.
/// False when they differ. A dim with several unknown symbols, or one inside a quotient, is taken to agree.
bool bind_extent(const Dim& dim, int64_t value, SymbolValues& symbols);

/// Does every symbol of `dim` have a value?
bool is_known(const Dim& dim, const SymbolValues& symbols);

}  // namespace gcg
