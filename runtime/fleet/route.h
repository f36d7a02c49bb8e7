// The calls that certain values need, and no others.
#pragma once

#include <vector>

#include "runtime/fleet/assembly.h"

namespace gart::fleet {

struct Route {
  std::vector<uint32_t> wanted;                // values, in the order of the request
  std::vector<uint32_t> calls;                 // in an order that respects their inputs
  std::vector<uint32_t> first;                 // calls that wait for nothing
  std::vector<uint32_t> waits;                 // per call: number of calls that must end first
  std::vector<std::vector<uint32_t>> readers;  // per call: those that wait for it
  std::vector<uint32_t> inputs;                // values that the caller must give
  std::vector<uint32_t> calls_of_group;        // per group: its number of calls in `calls`
};

/// Searches breadth first, backwards from the wanted values.
Route find_route(const Assembly& assembly, std::vector<uint32_t> wanted);

}  // namespace gart::fleet
