// A plan, decoded once at load into flat arrays that a run walks without touching the manifest. Immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "artifact_schema/kernel_abi.h"
#include "artifact_schema/shape_program.h"
#include "artifact_schema/spans.h"

namespace gart {

struct PlanStep {
  fb::StepKind kind;
  bool on_host = false;          // of a device's plan: the CPU runs it
  bool late = false;             // an operand, parameter or task count depends on a symbol bound during the run
  uint8_t value = 0;             // fill
  gart_kernel kernel = nullptr;  // launch on the CPU; null on a device
  void* function = nullptr;      // launch on a device: its driver's name for the kernel
  bool off = false;              // a call without its library, or a launch that stands in for a call that has it; where
                                 // the library refuses a shape, BoundStep.off is the opposite
  uint32_t call = UINT32_MAX;    // launch: the step that it stands in for; UINT32_MAX: none
  uint32_t scratch_slot = 0;     // launch
  uint32_t tasks_slot = 0;
  uint32_t first_operand = 0, operands = 0;  // in Plan.operands
  uint32_t first_param = 0, params = 0;      // in Plan.params
  uint32_t run_end = 0;                      // end of the run of launch, copy, fill and call steps that this step is in,
                                             // all of the device or all of the host
  const fb::Step* manifest = nullptr;
};

/// Steps that the thread team works through together; the others steer the run and are the caller's.
inline bool runs_in_team(fb::StepKind kind) {
  return kind == fb::StepKind::launch || kind == fb::StepKind::copy || kind == fb::StepKind::fill ||
         kind == fb::StepKind::call;
}

/// Steps that a device's queue takes.
inline bool is_enqueued(const PlanStep& step) { return runs_in_team(step.kind) && !step.on_host; }

/// Does the step write its operand at this position? A launch that does not say may write all of them.
bool writes_operand(const PlanStep& step, uint32_t position);

struct Plan {
  const fb::Plan* manifest = nullptr;
  size_t symbols = 0;
  ShapeProgram program;
  std::vector<PlanStep> steps;           // of all sequences, one after the other
  std::vector<uint32_t> sequence_begin;  // sequence i is steps [begin[i], begin[i + 1])
  std::vector<uint32_t> operands;        // buffer numbers
  std::vector<uint32_t> params;          // slots
  std::vector<uint8_t> early_slot;       // per slot: known before the first step
  std::vector<uint8_t> early_buffer;     // per buffer: size and place known before the first step
  std::vector<uint32_t> late_buffers;    // the others
  std::vector<uint32_t> late_steps;
  std::vector<uint32_t> io_buffers;   // early buffers in the caller's memory: their addresses change between runs
  std::vector<uint32_t> io_operands;  // positions in `operands` that name one of them

  const fb::Buffer& buffer(uint32_t index) const { return *manifest->buffers()->Get(index); }
  uint32_t base_of(uint32_t index) const {
    const int32_t alias = buffer(index).alias_of();
    return alias < 0 ? index : static_cast<uint32_t>(alias);
  }
};

/// A CPU target, and where its blob lies in memory (null: there is none).
struct CpuCode {
  uint32_t target = 0;
  const uint8_t* blob = nullptr;
};

/// `code`: of the plan's target, or of the one whose host code its host steps take. Requires a verified manifest.
Plan make_plan(const fb::EntryPoint& entry, const fb::Plan& manifest, const CpuCode& code);

}  // namespace gart
