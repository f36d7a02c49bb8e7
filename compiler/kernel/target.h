// What a compilation is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcg {

enum class DeviceClass : uint8_t { cpu, cuda };

struct Target {
  std::string name;             // "x86-64-v4", "x86-64-v3", "aarch64", "sm_90a"
  DeviceClass device = DeviceClass::cpu;
  int64_t vector_lanes = 16;    // f32 lanes of one vector register
  int64_t vector_registers = 32;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
};

/// The target of that name; nullopt when unknown. known_targets() lists the names for messages.
std::optional<Target> find_target(const std::string& name);
std::vector<std::string> known_targets();
/// The target of that name; CompileError listing the known ones if there is none.
Target require_target(const std::string& name);

}  // namespace gcg
