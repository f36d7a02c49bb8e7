// A plan: the steps to run on buffers, in a final order, with all decisions about them. There is one plan per target
// and shape set (the SymbolValues that are fixed).
//
// The passes that make a plan, in order (compiler/compile.cpp), and what holds after each:
//   make_plan         the kernels, buffers and steps of a graph; fit_memory repeats some under a memory limit
//   bind_libraries    library calls replace launches
//   select_code       machine code; each launch of a multi-launch kernel gets its own step: no step is added after this
//   assign_streams    the steps that may run at the same time on GPUs; on CPUs choose_parallel_modes does this
//   overlap_launches  the launches that may start early: the order is final
//   plan_memory       the offset of each temporary: an operand is a buffer and an offset
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
  TensorRef constant;      // constant: the data; packed: the tensor made at load
  std::string name;        // name of the value, for reports
  int block = -1;          // temporaries: blocks are set by plan_memory; buffers of one block share storage (in place)
  uint64_t packed_at = 0;  // packed: its offset in the region
};

/// A kernel runs.
struct Launch {
  KernelId kernel;                 // index into Plan::kernels
  std::vector<BufferId> operands;  // in the order of the kernel's operands
  std::vector<int> writes;         // positions in operands
  std::vector<int> in_place = {};  // operands whose storage the result may take over
  bool continues = false;          // continues the previous launch, on the same operands and workspace
  bool overlaps = false;           // may start while the previous launch on its stream runs
};

/// A library call.
struct Call {
  LibraryCall call;
  std::vector<BufferId> operands;                  // the tensors of the call
  std::vector<int> in_place = {};                  // operands whose storage the result may take over
  std::optional<LibraryAlgorithm> algorithm = {};  // the algorithm that measurements chose
  // Launches that replace the call where the library is missing; empty: there is no replacement.
  std::vector<Launch> fallback = {};
};

struct Copy {
  BufferId to, from;
};

/// bodies[0] runs if the condition is true, otherwise bodies[1].
struct Branch {
  BufferId condition;
  std::vector<SequenceId> bodies;
};

/// See artifact_schema/gart.fbs. An invalid id means that the loop has no such buffer.
struct Loop {
  struct Carried {
    BufferId from, to;
  };
  BufferId trip_count, condition, iteration;
  std::vector<Carried> carried = {};
  SequenceId body;
};

/// Assigns the value of an i64 scalar to a symbol.
struct Bind {
  std::string symbol;
  BufferId value;
};

/// Ends the run with an error.
struct Fail {
  std::string message;
  std::vector<Dim> differ = {};  // empty: always fails; two extents: fails only if they differ
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

  /// Buffers that the step itself, without its subgraphs, reads and writes. A buffer may be in both lists, and in one
  /// list more than once.
  std::vector<BufferId> reads() const;
  std::vector<BufferId> writes() const;
  std::vector<SequenceId> bodies() const;
  bool continues() const;
  /// The buffer that the step writes, and the buffers whose storage it may reuse. Invalid: it reuses none.
  BufferId result() const;
  std::vector<BufferId> in_place() const;
  /// True if the step follows every step before it and precedes every step after it, because it decides which steps
  /// run.
  bool is_barrier() const;
};

struct Sequence {
  IndexedVector<StepId, Step> steps;
};

struct MemoryPlan {
  std::vector<ArenaBlock> blocks;  // one per Buffer::block; sizes only if static
  std::vector<Dim> block_bytes;
  ArenaLayout layout;  // static plans: all offsets, the arena's size and its lower bound
  bool is_static = false;
  // Symbolic plans: blocks whose size is input-bound, in the order in which the runtime places them.
  std::vector<int> placement;
};

/// How threads share a CPU plan if a run has `threads` of them: artifact_schema/gart.fbs, Mode.
struct ParallelMode {
  int threads = 1;
  int intra = 1, inter = 1, replicas = 1;
  std::vector<uint8_t> stream_threads = {};
  double microseconds = 0, microseconds_intra = 0, microseconds_alone = 0;
  std::string reason = {};
};

struct Plan {
  DeviceClass device = DeviceClass::cpu;
  int entry_point = 0;  // 0: the model; 1 and up: further models, or its parts
  int target = -1;      // index into the requested targets; -1: not bound to a target yet
  // The target's machine; for a GPU plan without a target, the one that cost models use.
  const Machine* machine = &typical_gpu();
  SymbolValues fixed;                  // the extents that are fixed; all other symbols are open
  std::vector<DimConstraint> assumed;  // the plan serves only runs in which these facts hold
  // Weight relayout at load: the plan runs once per program and writes the packed buffers.
  bool is_load_time_packing = false;
  IndexedVector<KernelId, Kernel> kernels;  // distinct kernels, until select_code adds kernels for further launches
  IndexedVector<KernelId, CompiledKernel> code;  // one per kernel; filled by select_code
  IndexedVector<BufferId, Buffer> buffers;
  IndexedVector<SequenceId, Sequence> sequences;  // subgraphs before their users; the last one is the entry
  int streams = 1;
  std::vector<ParallelMode> modes;  // CPU plans only, in ascending order of threads
  MemoryPlan memory;
  uint64_t packed_bytes = 0;                   // size of the region of packed buffers
  std::vector<std::string> run_bound_symbols;  // run-bound symbols: bind steps of the entry sequence assign them

  Sequence& entry() { return sequences.back(); }
  const Sequence& entry() const { return sequences.back(); }
  /// True if steps of a run may write the buffer.
  bool is_writable(const Buffer& b) const {
    return b.kind == Buffer::Kind::output || b.kind == Buffer::Kind::temporary ||
           (is_load_time_packing && b.kind == Buffer::Kind::packed);
  }
};

}  // namespace gcg
