#include "compiler/kernel/target.h"

#include "compiler/support/error.h"

namespace gcg {
namespace {

const std::vector<Target>& table() {
  static const std::vector<Target> rows = {
      {"x86-64-v3", DeviceClass::cpu, 8, 16, 32 << 10, 1 << 20},
      {"x86-64-v4", DeviceClass::cpu, 16, 32, 48 << 10, 1 << 20},
      {"aarch64", DeviceClass::cpu, 4, 32, 64 << 10, 512 << 10},
  };
  return rows;
}

}  // namespace

std::optional<Target> find_target(const std::string& name) {
  for (const Target& t : table())
    if (t.name == name) return t;
  return std::nullopt;
}

std::vector<std::string> known_targets() {
  std::vector<std::string> names;
  for (const Target& t : table()) names.push_back(t.name);
  return names;
}

Target require_target(const std::string& name) {
  if (auto target = find_target(name)) return *target;
  std::string known;
  for (const std::string& k : known_targets()) known += (known.empty() ? "" : ", ") + k;
  fail("unknown target '", name, "'; known are: ", known);
}

}  // namespace gcg
