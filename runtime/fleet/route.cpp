#include "runtime/fleet/route.h"

#include <algorithm>

namespace gart::fleet {

Route find_route(const Assembly& assembly, std::vector<uint32_t> requested) {
  Route route;
  std::vector<uint8_t> seen(assembly.values.size()), needed(assembly.calls.size());
  std::vector<uint32_t> queue;
  const auto want = [&](uint32_t value) {
    if (seen[value]++ == 0) queue.push_back(value);
  };
  for (const uint32_t value : requested) want(value);
  for (size_t i = 0; i < queue.size(); ++i) {
    const Value& value = assembly.values[queue[i]];
    if (value.maker == kNone) {
      route.inputs.push_back(queue[i]);
    } else if (needed[value.maker]++ == 0) {
      for (const uint32_t input : assembly.calls[value.maker].needs) want(input);
    }
  }
  route.requested = std::move(requested);
  route.waits.resize(assembly.calls.size());
  route.readers.resize(assembly.calls.size());
  route.calls_of_group.resize(assembly.groups.size());
  for (uint32_t call = 0; call < assembly.calls.size(); ++call) {
    if (needed[call] == 0) continue;
    route.calls.push_back(call);
    ++route.calls_of_group[assembly.calls[call].group];
    for (const uint32_t value : assembly.calls[call].needs) {
      const uint32_t maker = assembly.values[value].maker;
      if (maker == kNone || (!route.readers[maker].empty() && route.readers[maker].back() == call)) continue;
      route.readers[maker].push_back(call);
      ++route.waits[call];
    }
    if (route.waits[call] == 0) route.first.push_back(call);
  }
  std::sort(route.inputs.begin(), route.inputs.end());
  return route;
}

}  // namespace gart::fleet
