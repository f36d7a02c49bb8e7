// What runs so that certain values are there: the calls that they need, and no others.
#pragma once

#include <vector>

#include "runtime/fleet/assembly.h"

namespace gart::fleet {

struct Route {
  std::vector<uint32_t> wanted;                // values, as they were asked for
  std::vector<uint32_t> calls;                 // in an order that runs
  std::vector<uint32_t> first;                 // calls that wait for nothing
  std::vector<uint32_t> waits;                 // per call: how many calls' ends it waits for
  std::vector<std::vector<uint32_t>> readers;  // per call: those that wait for it
  std::vector<uint32_t> inputs;                // values that the caller has to give
  std::vector<uint32_t> calls_of_group;        // per group: how many of `calls` are its
};

/// Breadth first from the wanted values, backwards.
Route find_route(const Assembly& assembly, std::vector<uint32_t> wanted);

}  // namespace gart::fleet
