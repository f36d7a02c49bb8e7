// The CPU targets: one row holds all facts about a level that the compiler, the code generator, files and tools use.
// Sizes and rates of a core are in machine.cpp, by instruction set.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace gcg {

/// The vector instructions of a level, which decide registers and code.
enum class Isa : uint8_t { avx2, avx512, neon };

struct CpuLevel {
  /// Models for which a file gets this level's code by default.
  enum class Default : uint8_t { never, always, bytes, halves, bytes_and_halves };

  std::string name;       // the target's
  uint64_t features = 0;  // all that its code needs: bits of artifact_schema/cpu_features.h
  Isa isa = Isa::avx2;
  const char* llvm_cpu = "";             // LLVM's name
  const char* llvm_features = "";        // features in addition to those of `llvm_cpu`
  bool multiplies_bytes = false;         // VPDPBUSD or USDOT on whole vectors
  bool multiplies_signed_bytes = false;  // SDOT alone
  bool multiplies_bf16_pairs = false;    // VDPBF16PS on whole vectors
  bool has_tiles = false;                // TDPBUSD, TDPBF16PS
  Default is_default = Default::never;
  std::vector<std::string> also_called = {};  // names that other tools use, as small letters and digits
};

/// Every level. The level with the greatest `features` that a CPU supports is preferred.
const std::deque<CpuLevel>& cpu_levels();
/// Adds a level to those of the compiler before the first compilation, for tests. References to levels stay valid.
void add_cpu_level(CpuLevel level);

/// The level of that name; null if there is none.
const CpuLevel* find_cpu_level(const std::string& name);
/// The level of a CPU target, which must exist.
const CpuLevel& cpu_level(const std::string& target);
/// The preferred level among those that need no other features; null if there is none.
const CpuLevel* best_cpu_level(uint64_t features);
/// The names of the levels that a model gets by default. `bytes`: the model computes with 8-bit integers. `halves`: it
/// computes with 16-bit floats.
std::vector<std::string> default_cpu_levels(bool bytes, bool halves);

}  // namespace gcg
