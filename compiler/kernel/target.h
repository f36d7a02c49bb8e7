// What a compilation is for: CPUs by micro-architecture level, GPUs by SM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcg {

class Decisions;

enum class DeviceClass : uint8_t { cpu, cuda };

/// What f32 products of contractions may be rounded to before they are summed in f32.
enum class Precision : uint8_t {
  fp32,  // not at all: the results are as accurate as those of f32 arithmetic
  tf32,  // factors to 10 bits of fraction
  fp16,  // ... and to the range of f16
  bf16,  // factors to 7 bits of fraction
};

/// The oldest CUDA driver that artifacts run on, as cuDriverGetVersion says it.
inline constexpr int kOldestDriver = 12030;

struct Target {
  std::string name;  // "x86-64-v4", "x86-64-v3", "aarch64", "sm_90a", "ptx"
  DeviceClass device = DeviceClass::cpu;
  int sm = 0;  // of GPUs: compute capability * 10; of "ptx" the least that takes it
  int driver =
      0;  // of GPUs: the oldest driver to run on, as cuDriverGetVersion says it (12060); 0: the newest toolkit's own
  Precision precision = Precision::fp32;  // where the GPU has such arithmetic, else the next better one
  const Decisions* decisions = nullptr;   // that override the cost model; null: none do
  bool is_ptx() const { return name == "ptx"; }
};

const char* name_of(Precision precision);  // "fp32"

/// The target of that name; nullopt when unknown. known_targets() lists the names for messages.
std::optional<Target> find_target(const std::string& name);
std::vector<std::string> known_targets();
/// The targets that `names` stand for, each once, in order: a name, a GPU with the driver it has to run on
/// ("sm_87:12.6", beside a group that has it, too), or a group ("edge", "server", "all"). CompileError listing what is
/// known if a name is not, and if one is given twice.
std::vector<Target> require_targets(const std::vector<std::string>& names);

}  // namespace gcg
