// Blocks of the device and of the host, each in an arena of its own.
#include "compiler/schedule/schedule.h"

namespace gcg {
namespace {

/// The blocks of one place, which conflict among themselves alone.
struct PlaceBlocks {
  PlaceBlocks(const MemoryPlan& plan, bool on_host) {
    std::vector<int> local(plan.blocks.size(), -1);
    for (size_t i = 0; i < plan.blocks.size(); ++i) {
      if (plan.on_host[i] != on_host) continue;
      local[i] = static_cast<int>(numbers.size());
      numbers.push_back(i);
      blocks.push_back(plan.blocks[i]);
    }
    for (ArenaBlock& block : blocks)
      for (int& other : block.conflicts) other = local[static_cast<size_t>(other)];
  }
  std::vector<ArenaBlock> blocks;
  std::vector<size_t> numbers;  // in the plan
};

}  // namespace

void plan_arenas(MemoryPlan& plan) {
  plan.layout.offsets.assign(plan.blocks.size(), 0);
  for (const bool on_host : {false, true}) {
    const PlaceBlocks place(plan, on_host);
    const ArenaLayout layout = plan_arena(place.blocks);
    for (size_t i = 0; i < place.numbers.size(); ++i) plan.layout.offsets[place.numbers[i]] = layout.offsets[i];
    (on_host ? plan.host_bytes : plan.layout.bytes) = layout.bytes;
    if (!on_host) plan.layout.lower_bound = layout.lower_bound;
  }
}

void verify_arenas(const MemoryPlan& plan) {
  for (const bool on_host : {false, true}) {
    const PlaceBlocks place(plan, on_host);
    ArenaLayout layout;
    layout.bytes = on_host ? plan.host_bytes : plan.layout.bytes;
    for (size_t number : place.numbers) layout.offsets.push_back(plan.layout.offsets[number]);
    verify_arena(place.blocks, layout);
  }
}

}  // namespace gcg
