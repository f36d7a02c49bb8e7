#include "compiler/kernel/cpu_levels.h"

#include "artifact_schema/cpu_features.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using Default = CpuLevel::Default;

std::deque<CpuLevel> x86_levels() {
  return {
      {.name = "x86-64-v3",
       .features = gart::kFeaturesX86_64v3,
       .isa = Isa::avx2,
       .llvm_cpu = "x86-64-v3",
       .is_default = Default::always,
       .also_called = {"avx2", "x8664", "amd64"}},
      {.name = "x86-64-v4",
       .features = gart::kFeaturesX86_64v4,
       .isa = Isa::avx512,
       .llvm_cpu = "x86-64-v4",
       .llvm_features = "+prfchw",
       .is_default = Default::always,
       .also_called = {"avx512"}},
      {.name = "x86-64-v4-vnni",
       .features = gart::kFeaturesX86_64v4Vnni,
       .isa = Isa::avx512,
       .llvm_cpu = "x86-64-v4",
       .llvm_features = "+prfchw,+avx512vnni",
       .multiplies_bytes = true,
       .is_default = Default::bytes,
       .also_called = {"vnni", "avx512vnni"}},
      {.name = "x86-64-v4-bf16",
       .features = gart::kFeaturesX86_64v4Bf16,
       .isa = Isa::avx512,
       .llvm_cpu = "x86-64-v4",
       .llvm_features = "+prfchw,+avx512vnni,+avx512bf16",
       .multiplies_bytes = true,
       .multiplies_bf16_pairs = true,
       .is_default = Default::halves,
       .also_called = {"bf16", "avx512bf16"}},
      {.name = "x86-64-v4-amx",
       .features = gart::kFeaturesX86_64v4Amx,
       .isa = Isa::avx512,
       .llvm_cpu = "x86-64-v4",
       .llvm_features = "+prfchw,+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16",
       .multiplies_bytes = true,
       .multiplies_bf16_pairs = true,
       .has_tiles = true,
       .is_default = Default::bytes_and_halves,
       .also_called = {"amx", "sapphirerapids"}},
  };
}

std::deque<CpuLevel> arm_levels() {
  return {
      {.name = "aarch64",
       .features = gart::kFeaturesAarch64,
       .isa = Isa::neon,
       .llvm_cpu = "generic",
       .llvm_features = "+neon",
       .also_called = {"arm64", "armv8"}},
      {.name = "aarch64-dotprod",
       .features = gart::kFeaturesAarch64Dot,
       .isa = Isa::neon,
       .llvm_cpu = "generic",
       .llvm_features = "+neon,+v8.2a,+dotprod,+fullfp16",
       .multiplies_signed_bytes = true,
       .also_called = {"dotprod"}},
      {.name = "aarch64-i8mm",
       .features = gart::kFeaturesAarch64I8mm,
       .isa = Isa::neon,
       .llvm_cpu = "generic",
       .llvm_features = "+neon,+v8.2a,+dotprod,+fullfp16,+i8mm,+bf16",
       .multiplies_bytes = true,
       .also_called = {"i8mm"}},
  };
}

std::deque<CpuLevel> all_levels() {
  std::deque<CpuLevel> all = x86_levels(), arm = arm_levels();
  for (CpuLevel& level : arm) all.push_back(std::move(level));
  return all;
}

std::deque<CpuLevel>& table() {
  static std::deque<CpuLevel> rows = all_levels();
  return rows;
}

bool is_default(const CpuLevel& level, bool bytes, bool halves) {
  switch (level.is_default) {
    case Default::never:
      return false;
    case Default::always:
      return true;
    case Default::bytes:
      return bytes;
    case Default::halves:
      return halves;
    case Default::bytes_and_halves:
      return bytes || halves;
  }
  return false;
}

}  // namespace

const std::deque<CpuLevel>& cpu_levels() { return table(); }

void add_cpu_level(CpuLevel level) {
  GCG_CHECK(find_cpu_level(level.name) == nullptr, "the CPU level ", level.name, " exists");
  table().push_back(std::move(level));
}

const CpuLevel* find_cpu_level(const std::string& name) {
  for (const CpuLevel& level : table())
    if (level.name == name) return &level;
  return nullptr;
}

const CpuLevel& cpu_level(const std::string& target) {
  const CpuLevel* level = find_cpu_level(target);
  GCG_CHECK(level != nullptr, "'", target, "' is not a level of CPUs");
  return *level;
}

const CpuLevel* best_cpu_level(uint64_t features) {
  const CpuLevel* best = nullptr;
  for (const CpuLevel& level : table())
    if ((level.features & ~features) == 0 && (best == nullptr || level.features > best->features)) best = &level;
  return best;
}

std::vector<std::string> default_cpu_levels(bool bytes, bool halves) {
  std::vector<std::string> names;
  for (const CpuLevel& level : table())
    if (is_default(level, bytes, halves)) names.push_back(level.name);
  return names;
}

}  // namespace gcg
