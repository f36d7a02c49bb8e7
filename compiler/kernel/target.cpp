#include "compiler/kernel/target.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "compiler/kernel/cpu_levels.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

Target cpu(const std::string& name) {
  Target target;
  target.name = name;
  return target;
}

Target cuda(const std::string& name, int sm) {
  Target target;
  target.name = name;
  target.device = DeviceClass::cuda;
  target.sm = sm;
  return target;
}

const std::vector<Target>& gpus() {
  static const std::vector<Target> rows = {
      cuda("sm_75", 75),                                               // Turing: T4
      cuda("sm_80", 80),                                               // Ampere: A100
      cuda("sm_86", 86),                                               // RTX 30
      cuda("sm_87", 87),                                               // Jetson Orin
      cuda("sm_89", 89),                                               // Ada: RTX 40, L4
      cuda("sm_90", 90),                                               // Hopper
      cuda("sm_90a", 90),                                              // ... with wgmma
      cuda("sm_100", 100),                                             // Blackwell: B200
      cuda("sm_100a", 100), cuda("sm_103", 103), cuda("sm_110", 110),  // Jetson Thor
      cuda("sm_120", 120),                                             // RTX 50
      cuda("sm_120a", 120), cuda("sm_121", 121), cuda("ptx", 80),
  };
  return rows;
}

const std::map<std::string, std::vector<std::string>>& groups() {
  static const std::map<std::string, std::vector<std::string>> rows = {
      {"edge", {"aarch64", "sm_87"}},
      {"server", {"x86-64-v3", "x86-64-v4", "sm_80", "sm_90a", "sm_100a"}},
      {"all",
       {"x86-64-v3", "x86-64-v4", "aarch64", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100a", "sm_120",
        "ptx"}},
  };
  return rows;
}

/// "12.6" as 12060, "13" as 13000.
int driver_version(const std::string& text, const std::string& target) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, major);
  if (error == std::errc() && rest != end && *rest == '.') {
    const auto fraction = std::from_chars(rest + 1, end, minor);
    rest = fraction.ptr;
    error = fraction.ec;
  }
  const bool good = error == std::errc() && rest == end && major >= 0 && major <= 99 && minor >= 0 && minor <= 99;
  const int version = good ? major * 1000 + minor * 10 : 0;
  if (version < kOldestDriver)
    fail("target '", target, "': '", text, "' is not a driver version from ", kOldestDriver / 1000, ".",
         kOldestDriver % 1000 / 10, " on, such as 12.6");
  return version;
}

/// The letters and digits of a name: "SM-87", "sm87" and "sm_87" are the same.
std::string spelling(const std::string& name) {
  std::string letters;
  for (const unsigned char c : name)
    if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
  return letters;
}

/// For a name that is not a target: the target that it is another spelling of, or that other tools call by this name.
/// Empty if there is none.
std::string meant_target(const std::string& name) {
  const std::string requested = spelling(name);
  for (const CpuLevel& level : cpu_levels())
    if (std::count(level.also_called.begin(), level.also_called.end(), requested) != 0) return level.name;
  for (const std::string& known : known_targets())
    if (spelling(known) == requested) return known;
  return "";
}

Target require_target(const std::string& name) {
  const size_t colon = name.find(':');
  if (auto target = find_target(name.substr(0, colon)); target && colon == std::string::npos) {
    return *target;
  } else if (target) {
    if (target->sm == 0) fail("target '", name, "': only a GPU has a driver version");
    target->driver = driver_version(name.substr(colon + 1), name);
    return *target;
  }
  std::string known;
  for (const std::string& k : known_targets()) known += (known.empty() ? "" : ", ") + k;
  for (const auto& [group, members] : groups()) known += ", " + group;
  const std::string meant = meant_target(name);
  fail("unknown target '", name, "'; ", meant.empty() ? "" : concat("did you mean '", meant, "'? "),
       "Without --target it is this machine; known: ", known);
}

}  // namespace

const char* name_of(Precision precision) {
  static constexpr const char* kNames[] = {"fp32", "tf32", "fp16", "bf16"};
  return kNames[static_cast<size_t>(precision)];
}

std::optional<Target> find_target(const std::string& name) {
  if (find_cpu_level(name) != nullptr) return cpu(name);
  for (const Target& t : gpus())
    if (t.name == name) return t;
  return std::nullopt;
}

std::vector<std::string> known_targets() {
  std::vector<std::string> names;
  for (const CpuLevel& level : cpu_levels()) names.push_back(level.name);
  for (const Target& t : gpus()) names.push_back(t.name);
  return names;
}

std::vector<Target> require_targets(const std::vector<std::string>& names) {
  std::vector<Target> targets;
  std::set<std::string> named;
  const auto find = [&](const std::string& name) {
    return std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.name == name; });
  };
  for (const std::string& name : names) {
    if (const auto group = groups().find(name); group != groups().end()) {
      for (const std::string& member : group->second)
        if (find(member) == targets.end()) targets.push_back(require_target(member));
      continue;
    }
    const Target target = require_target(name);
    if (!named.insert(target.name).second) fail("target '", name, "': ", target.name, " is given twice");
    if (const auto known = find(target.name); known != targets.end())
      *known = target;  // a group has already added this target; the driver requested here replaces the group's
    else
      targets.push_back(target);
  }
  return targets;
}

}  // namespace gcg
