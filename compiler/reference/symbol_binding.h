// Learns the values of symbols from the actual shapes of tensors.
#pragma once

#include <string>

#include "compiler/ir/dim.h"

namespace gcg {

/// Makes `dim` equal `value`: learns the only unknown symbol if `dim` is linear in it, else compares. False if they
/// differ. A dim with several unknown symbols, or with one inside a quotient, is assumed to agree.
bool bind_extent(const Dim& dim, int64_t value, SymbolValues& symbols);

/// True if every symbol of `dim` has a value.
bool is_known(const Dim& dim, const SymbolValues& symbols);

}  // namespace gcg
