// The schedule: kernels, buffers and steps of one plan, in an order that is final.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"
#include "compiler/schedule/memory_plan.h"

namespace gcg {

struct Buffer {
  enum class Kind : uint8_t { input, output, constant, temporary } kind = Kind::temporary;
  int index = 0;  // input, output: position in the graph's list
  Dim bytes;
  TensorRef constant;  // constant: the data
  std::string name;    // of the value, for reports
  // Filled by plan_memory for temporaries:
  int block = -1;        // temporaries with the same block share storage (in-place results)
  bool on_host = false;  // of a schedule for a GPU: in host memory
};

struct Step {
  enum class Kind : uint8_t { launch, copy, branch, loop, fail, bind } kind = Kind::launch;
  bool on_host = false;            // launch, of a schedule for a GPU: the CPU runs it
  KernelId kernel;                 // of Schedule::kernels, or host_kernels
  std::vector<BufferId> operands;  // launch: the kernel's; copy: destination, source; branch: the condition;
                                   // bind: the value
  std::vector<int> writes;         // positions in operands
  std::vector<StepId> waits;       // earlier steps of the sequence that must have finished
  int stream = 0;                  // steps on the same stream run in order
  std::vector<int> bodies;         // branch, loop: sequence numbers
  // loop: see artifact_schema/gart.fbs
  BufferId trip_count, condition, iteration;
  std::vector<BufferId> carried_from, carried_to;
  std::string message;        // fail
  std::vector<Dim> differ;    // fail: none (always), or two extents: only if they differ
  std::string symbol;         // bind: what gets the value
  std::string source;         // ONNX node names
  std::vector<int> in_place;  // launch: operands whose storage the result may take over
};

struct Sequence {
  std::vector<Step> steps;
};

struct MemoryPlan {
  std::vector<ArenaBlock> blocks;  // one per Buffer::block; sizes only when static
  std::vector<Dim> block_bytes;
  std::vector<bool> on_host;  // per block: it lies in the host's arena
  ArenaLayout layout;         // static plans: all offsets; size and lower bound of the device's arena
  int64_t host_bytes = 0;     // static plans: of the host's arena
  bool is_static = false;
  std::vector<int> placement;  // symbolic plans: blocks of early sizes in the order in which the runtime places them
};

struct Schedule {
  std::vector<Kernel> kernels;       // distinct
  std::vector<Kernel> host_kernels;  // those of steps with on_host
  std::vector<Buffer> buffers;
  std::vector<Sequence> sequences;  // bodies before their users; the last one is the entry
  int streams = 1;
  MemoryPlan memory;
  std::vector<std::string> late_symbols;  // given their values by bind steps of the entry sequence
};

/// Requires: target passes done. Extents that depend on data become bind steps where the operator can say what they
/// are, and facts about them fail steps behind those. Throws UnsupportedModel with a row for every node that has no
/// kernel or gives a value an extent that depends on data.
Schedule make_schedule(const Graph& graph, DeviceClass device = DeviceClass::cpu);

/// Lifetimes, in-place results, placement. `memory_limit`: bytes of a static arena; exceeded: CompileError naming the
/// three largest live sets.
void plan_memory(Schedule& schedule, std::optional<int64_t> memory_limit);

/// Throws InternalError when a step reads what no earlier step wrote, when live buffers overlap, or an index is off.
void verify_schedule(const Schedule& schedule);

}  // namespace gcg
