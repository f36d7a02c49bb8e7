// What runs: steps on buffers, in an order that is final, with all that has been decided about them. There is one plan
// per target and shape set (SymbolValues that are fixed).
//
// The passes that make one, in order (compiler/compile.cpp), and what holds from then on:
//   make_plan         kernels, buffers and steps of a graph
//   bind_libraries    calls of libraries take the place of launches
//   select_code       machine code; kernels of several launches get a step each: no step is added any more
//   assign_streams    what may run at the same time: on GPUs; on CPUs choose_parallel_modes
//   overlap_launches  what may start early: the order is final
//   plan_memory       where temporaries lie: an operand is a buffer and its place
//   verify_plan
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/backend.h"
#include "compiler/kernel/decisions.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/library_call.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/target.h"
#include "compiler/plan/arena.h"
#include "compiler/support/indexed_vector.h"

namespace gcg {

using SequenceId = Id<struct SequenceTag>;

struct Buffer {
  enum class Kind : uint8_t { input, output, constant, temporary, packed } kind = Kind::temporary;
  int index = 0;  // input, output: position in the graph's list
  Dim bytes;
  TensorRef constant;      // constant: the data; packed: what is made at load
  std::string name;        // of the value, for reports
  int block = -1;          // plan_memory, temporaries: those with the same block share storage (in-place results)
  uint64_t packed_at = 0;  // packed: where it lies in the region
};

/// A kernel runs.
struct Launch {
  KernelId kernel;                 // of Plan::kernels
  std::vector<BufferId> operands;  // the kernel's
  std::vector<int> writes;         // positions in operands
  std::vector<int> in_place = {};  // operands whose storage the result may take over
  bool continues = false;          // the work of the launch before it, on the same operands and workspace
  bool overlaps = false;           // it may start while the launch before it on its stream runs
};

/// A library does the work.
struct Call {
  LibraryCall call;
  std::vector<BufferId> operands;                  // its tensors
  std::vector<int> in_place = {};                  // operands whose storage the result may take over
  std::optional<LibraryAlgorithm> algorithm = {};  // measured
  std::vector<Launch> fallback = {};  // does the same where the library is not to be had; empty: nothing does
};

struct Copy {
  BufferId to, from;
};

/// bodies[0] runs if the boolean holds, otherwise bodies[1].
struct Branch {
  BufferId condition;
  std::vector<SequenceId> bodies;
};

/// See artifact_schema/gart.fbs. Invalid: there is none.
struct Loop {
  struct Carried {
    BufferId from, to;
  };
  BufferId trip_count, condition, iteration;
  std::vector<Carried> carried = {};
  SequenceId body;
};

/// A symbol gets the value of an i64 scalar.
struct Bind {
  std::string symbol;
  BufferId value;
};

/// The run ends.
struct Fail {
  std::string message;
  std::vector<Dim> differ = {};  // none: always; two extents: only if they differ
};

struct Step {
  std::variant<Launch, Call, Copy, Branch, Loop, Bind, Fail> work;
  std::string source;              // ONNX node names
  std::vector<StepId> waits = {};  // earlier steps of the sequence that must have finished
  int stream = 0;                  // steps on the same stream run in order

  template <class T>
  const T* as() const {
    return std::get_if<T>(&work);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&work);
  }

  /// Buffers that the step itself, not its bodies, reads and writes. A buffer may be in both, and in one more than
  /// once.
  std::vector<BufferId> reads() const;
  std::vector<BufferId> writes() const;
  std::vector<SequenceId> bodies() const;
  bool continues() const;
  /// The buffer that the step writes and those whose storage it may take over; invalid: it takes over none.
  BufferId result() const;
  std::vector<BufferId> in_place() const;
  /// It stands after every step before it and before every step after it: it decides what runs.
  bool is_barrier() const;
};

struct Sequence {
  IndexedVector<StepId, Step> steps;
};

struct MemoryPlan {
  std::vector<ArenaBlock> blocks;  // one per Buffer::block; sizes only when static
  std::vector<Dim> block_bytes;
  ArenaLayout layout;  // static plans: all offsets; size and lower bound
  bool is_static = false;
  std::vector<int> placement;  // symbolic plans: blocks of early sizes in the order in which the runtime places them
};

/// How the threads of a run share a CPU's plan, where there are `threads` of them: artifact_schema/gart.fbs, Mode.
struct ParallelMode {
  int threads = 1;
  int intra = 1, inter = 1, replicas = 1;
  std::vector<uint8_t> stream_threads = {};
  double microseconds = 0, microseconds_intra = 0, microseconds_alone = 0;
  std::string reason = {};
};

struct Plan {
  DeviceClass device = DeviceClass::cpu;
  int entry_point = 0;                      // 0: the whole model, then its parts
  int target = -1;                          // its number among those asked for; -1: not yet for one of them
  const Machine* machine = &typical_gpu();  // of that target; of a plan for a GPU, what cost models go by
  SymbolValues fixed;                       // the others are open
  bool is_load_time_packing = false;        // it runs once, when a program is loaded, and writes the packed buffers
  IndexedVector<KernelId, Kernel> kernels;  // distinct, until some have several launches
  IndexedVector<KernelId, CompiledKernel> code;  // of kernels; filled by select_code
  IndexedVector<BufferId, Buffer> buffers;
  IndexedVector<SequenceId, Sequence> sequences;  // bodies before their users; the last one is the entry
  int streams = 1;
  std::vector<ParallelMode> modes;  // of a CPU, in ascending order of threads
  MemoryPlan memory;
  uint64_t packed_bytes = 0;              // of the region of packed buffers
  std::vector<std::string> late_symbols;  // given their values by bind steps of the entry sequence

  Sequence& entry() { return sequences.back(); }
  const Sequence& entry() const { return sequences.back(); }
  /// May steps of a run write the buffer?
  bool is_writable(const Buffer& b) const {
    return b.kind == Buffer::Kind::output || b.kind == Buffer::Kind::temporary ||
           (is_load_time_packing && b.kind == Buffer::Kind::packed);
  }
};

}  // namespace gcg
