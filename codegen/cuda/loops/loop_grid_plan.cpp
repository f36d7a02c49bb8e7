#include <algorithm>

#include "codegen/cuda/loops/loop_plan.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"

namespace gcg::cuda {
namespace {

/// The number of blocks is fixed and does not depend on the GPU, so that sums have the same bits on all GPUs.
constexpr int64_t kBlocks = 264;     // enough blocks to use the memory bandwidth of a large GPU
constexpr int64_t kFewBlocks = 96;   // with fewer blocks than this, the bandwidth would be wasted
constexpr int64_t kRowChunk = 4096;  // elements of a block if its threads share a row
constexpr int kRowThreads = 512, kAcrossGroup = 16;
constexpr int64_t kAcrossChunk = 256;  // elements of each row that a block takes if its threads have 32 rows

/// The elements of the longest row; a very large number if that depends on the input.
int64_t longest(const std::vector<Stage>& stages) {
  constexpr int64_t kOpen = int64_t{1} << 40;
  int64_t longest = 1;
  for (const Stage& s : stages) longest = std::max(longest, extent_of(s.axes).upper_bound().value_or(kOpen));
  return longest;
}

}  // namespace

bool plan_grid(const Kernel& kernel, const LoopKernel& loop, bool neighbours, LoopPlan& plan) {
  const auto points = extent_of(plan.outer).upper_bound();
  if (!points || *points < 1) return false;
  const int64_t blocks = neighbours ? (*points + kWarpThreads - 1) / kWarpThreads : *points;
  const int64_t chunks = std::min(kBlocks / blocks, longest(loop.stages) / (neighbours ? kAcrossChunk : kRowChunk));
  if (blocks > kFewBlocks || chunks < 2) return false;
  plan.mapping = ThreadMapping::grid;
  plan.chunks = static_cast<int>(chunks);
  plan.across = neighbours;
  plan.group = neighbours ? kAcrossGroup : kRowThreads;
  plan.threads = neighbours ? kWarpThreads * kAcrossGroup : kRowThreads;
  if (neighbours) return true;
  for (StagePlan& s : plan.stages)
    if (s.lane.id >= 0) s.vector = vector_count(s.stage, kernel.operands, s.lane.id);
  return true;
}

}  // namespace gcg::cuda
