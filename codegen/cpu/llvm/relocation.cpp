#include "codegen/cpu/llvm/relocation.h"

#include <llvm/Support/Endian.h>

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::support::endian::read32le;
using llvm::support::endian::write32le;
using llvm::support::endian::write64le;

void check_fits(int64_t value, int bits, uint64_t type) {
  const int64_t limit = int64_t{1} << (bits - 1);
  GCG_CHECK(value >= -limit && value < limit, "relocation type ", type, " spans ", value, " bytes, more than ", bits,
            " bits");
}

void apply_x86(uint64_t type, uint8_t* place, int64_t distance) {
  switch (type) {
    case llvm::ELF::R_X86_64_PC32:
    case llvm::ELF::R_X86_64_PLT32:
      check_fits(distance, 32, type);
      write32le(place, static_cast<uint32_t>(distance));
      return;
    case llvm::ELF::R_X86_64_PC64:
      write64le(place, static_cast<uint64_t>(distance));
      return;
    default:
      GCG_CHECK(false, "x86-64 relocation type ", type, " is not position-independent");
  }
}

/// Replaces `bits` bits of an instruction, starting at bit `shift`.
void patch(uint8_t* place, uint64_t value, int shift, int bits) {
  const uint32_t mask = ((1u << bits) - 1) << shift;
  write32le(place, (read32le(place) & ~mask) | ((static_cast<uint32_t>(value) << shift) & mask));
}

/// log2 of the access size of an LDST*_LO12 relocation, -1 for others.
int load_store_scale(uint64_t type) {
  switch (type) {
    case llvm::ELF::R_AARCH64_LDST8_ABS_LO12_NC:
      return 0;
    case llvm::ELF::R_AARCH64_LDST16_ABS_LO12_NC:
      return 1;
    case llvm::ELF::R_AARCH64_LDST32_ABS_LO12_NC:
      return 2;
    case llvm::ELF::R_AARCH64_LDST64_ABS_LO12_NC:
      return 3;
    case llvm::ELF::R_AARCH64_LDST128_ABS_LO12_NC:
      return 4;
    default:
      return -1;
  }
}

void apply_aarch64(uint64_t type, uint8_t* place, uint64_t p, uint64_t target) {
  const int64_t distance = static_cast<int64_t>(target - p);
  if (const int scale = load_store_scale(type); scale >= 0) {
    GCG_CHECK((target & ((uint64_t{1} << scale) - 1)) == 0, "data of a scaled access is not aligned");
    patch(place, (target & 0xfff) >> scale, 10, 12);
    return;
  }
  switch (type) {
    case llvm::ELF::R_AARCH64_CALL26:
    case llvm::ELF::R_AARCH64_JUMP26:
      check_fits(distance, 28, type);
      patch(place, static_cast<uint64_t>(distance >> 2), 0, 26);
      return;
    case llvm::ELF::R_AARCH64_ADR_PREL_PG_HI21: {
      const int64_t pages = static_cast<int64_t>(target >> 12) - static_cast<int64_t>(p >> 12);
      check_fits(pages, 21, type);
      patch(place, static_cast<uint64_t>(pages), 29, 2);
      patch(place, static_cast<uint64_t>(pages >> 2), 5, 19);
      return;
    }
    case llvm::ELF::R_AARCH64_ADD_ABS_LO12_NC:
      patch(place, target & 0xfff, 10, 12);
      return;
    case llvm::ELF::R_AARCH64_PREL32:
      check_fits(distance, 32, type);
      write32le(place, static_cast<uint32_t>(distance));
      return;
    case llvm::ELF::R_AARCH64_PREL64:
      write64le(place, static_cast<uint64_t>(distance));
      return;
    default:
      GCG_CHECK(false, "aarch64 relocation type ", type, " is not position-independent");
  }
}

}  // namespace

void apply_relocation(uint16_t machine, uint64_t type, uint8_t* place, uint64_t p, uint64_t target) {
  if (machine == llvm::ELF::EM_X86_64) return apply_x86(type, place, static_cast<int64_t>(target - p));
  GCG_CHECK(machine == llvm::ELF::EM_AARCH64, "object for unknown machine ", machine);
  apply_aarch64(type, place, p, target);
}

}  // namespace gcg::cpu
