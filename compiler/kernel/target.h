// Targets of a compilation: CPUs by micro-architecture level, GPUs by SM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcg {

class Decisions;

enum class DeviceClass : uint8_t { cpu, cuda };

/// The precision to which contractions may round the factors of f32 products before they sum in f32.
enum class Precision : uint8_t {
  fp32,  // no rounding: results are as accurate as those of f32 arithmetic
  tf32,  // factors to 10 bits of fraction
  fp16,  // factors to 10 bits of fraction and to the range of f16
  bf16,  // factors to 7 bits of fraction
};

/// The oldest CUDA driver that artifacts run on, in the encoding of cuDriverGetVersion.
inline constexpr int kOldestDriver = 12030;

struct Target {
  std::string name;  // "x86-64-v4", "x86-64-v3", "aarch64", "sm_90a", "ptx"
  DeviceClass device = DeviceClass::cpu;
  int sm = 0;      // GPUs: compute capability * 10; for "ptx", that of the oldest GPU that accepts the code
  int driver = 0;  // GPUs: the oldest driver to run on, in the encoding of cuDriverGetVersion (12060); 0: the newest
                   // toolkit's own
  Precision precision = Precision::fp32;  // a GPU without this arithmetic uses the next more accurate one
  const Decisions* decisions = nullptr;   // replace choices of the cost model; null: none
  bool is_ptx() const { return name == "ptx"; }
};

const char* name_of(Precision precision);  // "fp32"

/// The target of that name; nullopt when unknown. known_targets() lists the names for messages.
std::optional<Target> find_target(const std::string& name);
std::vector<std::string> known_targets();
/// The targets that `names` denote, each once, in order. A name is a target, a GPU with the driver it has to run on
/// ("sm_87:12.6", also beside a group that contains it), or a group ("edge", "server", "all"). Throws CompileError for
/// a name that is given twice, and for an unknown name, with the list of known ones.
std::vector<Target> require_targets(const std::vector<std::string>& names);

}  // namespace gcg
