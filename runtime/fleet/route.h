// Finds the calls that certain values need.
#pragma once

#include <vector>

#include "runtime/fleet/assembly.h"

namespace gart::fleet {

struct Route {
  std::vector<uint32_t> requested;             // values, in the order of the request
  std::vector<uint32_t> calls;                 // in an order in which inputs are made before they are read
  std::vector<uint32_t> first;                 // calls that do not wait for others
  std::vector<uint32_t> waits;                 // per call: number of calls that must end first
  std::vector<std::vector<uint32_t>> readers;  // per call: the calls that wait for it
  std::vector<uint32_t> inputs;                // inputs of the model that the caller must supply
  std::vector<uint32_t> calls_of_group;        // per group: the number of its calls in `calls`
};

/// Searches breadth first, backwards from the requested values.
Route find_route(const Assembly& assembly, std::vector<uint32_t> requested);

}  // namespace gart::fleet
