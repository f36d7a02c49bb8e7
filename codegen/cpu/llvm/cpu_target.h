// Properties of a CPU target that the code generator uses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/ir/dtype.h"
#include "compiler/kernel/cpu_levels.h"
#include "compiler/kernel/target.h"

namespace llvm {
class TargetMachine;
}

namespace gcg::cpu {

struct CpuTarget {
  Isa isa = Isa::avx2;
  const char* triple = "";
  const char* cpu = "";       // LLVM's name
  const char* features = "";  // features in addition to those of `cpu`
  int vector_bytes = 32;
  int vector_registers = 16;
  int64_t l2_bytes = 0;         // L2 size that every CPU of the target has
  bool has_vnni = false;        // supports VPDPBUSD or USDOT on whole vectors
  bool has_signed_dot = false;  // supports SDOT, but not USDOT
  bool has_bf16 = false;        // VDPBF16PS on whole vectors
  bool has_amx = false;         // tiles: TDPBUSD, TDPBF16PS

  bool has_avx512() const { return isa == Isa::avx512; }
  bool is_x86() const { return isa != Isa::neon; }
  /// Lanes of one vector register; `boolean` counts as its byte in memory.
  int lanes(DType dtype) const { return vector_bytes / static_cast<int>(size_of(dtype)); }
};

/// Throws InternalError for a target that is not a CPU supported here.
CpuTarget cpu_target(const Target& target);

/// A new machine for one thread: position-independent, small code model, no implicit FMA contraction.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target);

}  // namespace gcg::cpu
