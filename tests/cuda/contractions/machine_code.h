// Reads the machine code of a cubin by opcode, so that tests need no disassembler.
#pragma once

#include <cstdint>
#include <vector>

namespace gcg::test {

/// 16 bytes, of sm_90 to sm_120.
struct Instruction {
  uint64_t low = 0, high = 0;
  unsigned opcode() const { return low & 0xfffu; }
  /// Is it wgmma.wait_group, and how many groups may remain?
  bool waits_for_products() const { return opcode() == 0x9c5 && (low >> 47 & 1) != 0; }
  int products_left() const { return static_cast<int>(high >> 8 & 7); }
};

constexpr unsigned kMathFunction = 0x308;  // exponentials among them

/// The instructions of a cubin's functions, in the order of the functions' addresses.
std::vector<Instruction> instructions_of(const std::vector<uint8_t>& cubin);

}  // namespace gcg::test
