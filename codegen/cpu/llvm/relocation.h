// Applies ELF relocations between positions whose distance is known at compile time.
#pragma once

#include <llvm/BinaryFormat/ELF.h>

#include <cstdint>

namespace gcg::cpu {

/// Patches `place`, the bytes at blob offset `p`, so that it refers to blob offset `target` = symbol + addend. Throws
/// InternalError for kinds that need an absolute address and for distances out of range.
void apply_relocation(uint16_t machine, uint64_t type, uint8_t* place, uint64_t p, uint64_t target);

}  // namespace gcg::cpu
