// Blocks of the device and of the host, each in an arena of its own.
#include "compiler/plan/plan.h"

namespace gcg {
namespace {

/// The blocks of one memory space, which conflict among themselves alone.
struct BlocksOf {
  BlocksOf(const MemoryPlan& plan, MemorySpace space) {
    std::vector<int> local(plan.blocks.size(), -1);
    for (size_t i = 0; i < plan.blocks.size(); ++i) {
      if (plan.space[i] != space) continue;
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
  for (const MemorySpace space : {MemorySpace::device, MemorySpace::host}) {
    const BlocksOf own(plan, space);
    const ArenaLayout layout = plan_arena(own.blocks);
    for (size_t i = 0; i < own.numbers.size(); ++i) plan.layout.offsets[own.numbers[i]] = layout.offsets[i];
    (space == MemorySpace::host ? plan.host_bytes : plan.layout.bytes) = layout.bytes;
    if (space == MemorySpace::device) plan.layout.lower_bound = layout.lower_bound;
  }
}

void verify_arenas(const MemoryPlan& plan) {
  for (const MemorySpace space : {MemorySpace::device, MemorySpace::host}) {
    const BlocksOf own(plan, space);
    ArenaLayout layout;
    layout.bytes = space == MemorySpace::host ? plan.host_bytes : plan.layout.bytes;
    for (size_t number : own.numbers) layout.offsets.push_back(plan.layout.offsets[number]);
    verify_arena(own.blocks, layout);
  }
}

}  // namespace gcg
