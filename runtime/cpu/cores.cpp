#include "runtime/cpu/cores.h"

#include <charconv>

#include "runtime/errors.h"

namespace gart::cpu {

Cores Cores::allowed() {
  Cores cores;
  if (sched_getaffinity(0, sizeof cores.set_, &cores.set_) != 0) CPU_SET(0, &cores.set_);
  return cores;
}

bool Cores::contains(const Cores& other) const {
  cpu_set_t both;
  CPU_AND(&both, &set_, &other.set_);
  return CPU_EQUAL(&both, &other.set_);
}

std::string Cores::text() const {
  std::string out;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!has(core)) continue;
    const int first = core;
    while (has(core + 1)) ++core;
    out += gart::text(out.empty() ? "" : ",", first);
    if (core > first) out += gart::text("-", core);
  }
  return out;
}

Cores Cores::of_device(std::string_view name) {
  constexpr std::string_view kPrefix = "cpu:";
  const Cores allowed = Cores::allowed();
  Cores cores;
  const char *at = name.data() + kPrefix.size(), *const end = name.data() + name.size();
  const auto number = [&] {
    int core = -1;
    const auto parsed = std::from_chars(at, end, core);
    if (parsed.ec != std::errc() || core < 0) {
      fail(ErrorCode::invalid_argument, "device '", name,
           "' names no cores; expected 'cpu:0', 'cpu:0-3' or 'cpu:0-3,8'");
    }
    at = parsed.ptr;
    return core;
  };
  for (bool more = true; more;) {
    const int first = number();
    const int last = at < end && *at == '-' ? (++at, number()) : first;
    if (last < first)
      fail(ErrorCode::invalid_argument, "device '", name, "' names cores ", first, " to ", last, ", an empty range");
    for (int core = first; core <= last; ++core) {
      if (!allowed.has(core)) {
        fail(ErrorCode::unsupported, "device '", name, "' names core ", core, "; this process may use ",
             allowed.text());
      }
      CPU_SET(core, &cores.set_);
    }
    more = at < end && *at == ',';
    if (more) ++at;
  }
  if (at < end) at = end, number();
  return cores;
}

}  // namespace gart::cpu
