// A plan, decoded at load into flat arrays, so that a run does not access the manifest. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/shape_program.h"
#include "artifact_schema/spans.h"

namespace gart {

struct PlanStep {
  fb::StepKind kind;
  // True if an operand, parameter or task count depends on a symbol bound during the run.
  bool run_bound = false;
  uint8_t value = 0;                   // fill
  const fb::Kernel* kernel = nullptr;  // launch
  const void* function = nullptr;      // launch: the device's handle of the kernel, set when its code is loaded
  // True if the step does not run: a call whose library is missing, or the fallback of a call whose library is
  // available. If the library refuses the shapes of a run, BoundStep.off has the opposite value.
  bool off = false;
  uint32_t call = UINT32_MAX;  // launch: the call whose fallback it is; UINT32_MAX: none
  uint32_t scratch_slot = 0;   // launch
  uint32_t tasks_slot = 0;
  uint32_t first_operand = 0, operands = 0;  // in Plan.operands
  uint32_t first_param = 0, params = 0;      // in Plan.params
  const fb::Step* manifest = nullptr;
};

/// True for steps that run on the device; the other steps decide how the run continues.
inline bool is_work(fb::StepKind kind) {
  return kind == fb::StepKind::launch || kind == fb::StepKind::copy || kind == fb::StepKind::fill ||
         kind == fb::StepKind::call;
}

/// Steps [begin, end) of the sequence that begins at step `sequence`: a maximal run of work steps, or one deciding
/// step.
struct Segment {
  uint32_t sequence, begin, end;
  bool decides = false;
  // True if the segment also copies the caller's inputs before its steps, or outputs after them.
  bool inputs = false, outputs = false;
};

/// True if the step writes its operand at this position. A launch that does not list its writes may write all of them.
bool writes_operand(const PlanStep& step, uint32_t position);

/// The parts of a plan that depend on a symbol that is bound during the run, in order.
struct Reach {
  std::vector<uint32_t> parts;                // instructions, then buffers, then steps
  uint32_t first_buffer = 0, first_step = 0;  // in `parts`

  std::span<const uint32_t> instructions() const { return {parts.data(), first_buffer}; }
  std::span<const uint32_t> buffers() const {
    return std::span(parts).subspan(first_buffer, first_step - first_buffer);
  }
  std::span<const uint32_t> steps() const { return std::span(parts).subspan(first_step); }
};

struct Plan {
  const fb::Plan* manifest = nullptr;
  size_t symbols = 0;
  ShapeProgram program;
  std::vector<PlanStep> steps;  // the steps of all sequences, one sequence after the other
  // Sequence i consists of steps [begin[i], begin[i + 1]); the last one is the entry.
  std::vector<uint32_t> sequence_begin;
  std::vector<Segment> segments;            // of all sequences
  std::vector<uint32_t> segment_begin;      // sequence i consists of segments [begin[i], begin[i + 1])
  std::vector<uint32_t> operands;           // buffer numbers
  std::vector<uint32_t> params;             // slots
  std::vector<uint8_t> input_bound_slot;    // per slot: 1 if it is known before the first step
  std::vector<uint8_t> input_bound_buffer;  // per buffer: 1 if size and offset are known before the first step
  std::vector<uint32_t> run_bound_buffers;  // the other buffers
  std::vector<uint32_t> io_buffers;         // buffers in the caller's memory: their addresses change between runs
  std::vector<uint32_t> io_operands;        // positions in `operands` that name such a buffer

  uint32_t entry_sequence() const { return static_cast<uint32_t>(sequence_begin.size()) - 2; }
  std::span<const Segment> sequence(uint32_t index) const {
    return std::span(segments).subspan(segment_begin[index], segment_begin[index + 1] - segment_begin[index]);
  }
  const fb::Buffer& buffer(uint32_t index) const { return *manifest->buffers()->Get(index); }
  uint32_t base_of(uint32_t index) const {
    const int32_t alias = buffer(index).alias_of();
    return alias < 0 ? index : static_cast<uint32_t>(alias);
  }
};

/// Launches have no functions yet. Requires a verified manifest.
Plan make_plan(const fb::EntryPoint& entry, const fb::Plan& manifest);
Reach reach_of(const Plan& plan, uint32_t symbol);

}  // namespace gart
