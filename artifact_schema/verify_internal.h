// Declarations that the parts of the verifier share. Only for verify*.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "artifact_schema/shape_program.h"
#include "artifact_schema/spans.h"
#include "artifact_schema/verify.h"
#include "assembly_generated.h"

namespace gart::verify {

/// The number of elements and characters that may still be visited. In a manifest from our writer, each element takes
/// its own bytes. A forged file could let many tables share one long vector, so that a small file takes hours to check.
struct Budget {
  uint64_t left;
  uint64_t scans = uint64_t{1} << 24;  // budget for tables that are read once per plan or step: a forged file can make
                                       // them long
  Status spend(uint64_t count) {
    if (count > left) return failure("the manifest's tables share vectors or strings");
    left -= count;
    return {};
  }
  Status work(uint64_t count) {
    if (count > scans) return failure("the manifest has too many plans or steps");
    scans -= count;
    return {};
  }
};

/// Checks that every `values[i]` is below `limit`. `what` names the values and the kind of things counted by the limit:
/// "operand", "buffers".
Status check_indices(Budget& budget, std::span<const uint32_t> values, size_t limit, const char* what,
                     const char* things);
Status check_index(uint64_t value, size_t limit, const char* what, const char* things);
/// Checks alignment: the FlatBuffers verifier aligns the length of a vector, not its 8-byte elements.
template <class T>
Status check_elements_aligned(std::span<const T> elements, const char* what) {
  if (elements.empty() || reinterpret_cast<uintptr_t>(elements.data()) % alignof(int64_t) == 0) return {};
  return failure(what, " is not 8-byte aligned in the manifest");
}

/// Checks that the string is not too long and has no NUL inside.
Status check_string(Budget& budget, const flatbuffers::String* string, const char* what);
/// Puts `prefix` in front of the message if the check failed.
Status within(Status status, const std::string& prefix);
/// Checks that the kernel's code lies within its target's code. `name`: the kernel's, for the message.
Status check_place(const fb::Kernel& kernel, uint64_t code_bytes, const std::string& name);

/// One plan and the data that its checks need repeatedly.
struct PlanCheck {
  Budget& budget;
  const ArtifactView& artifact;
  const fb::EntryPoint& entry;
  const fb::Plan& plan;
  size_t symbols = 0;
  ShapeProgram program;
  std::vector<uint8_t> input_bound;         // per slot: True if it does not depend on bind steps
  std::vector<uint8_t> input_bound_buffer;  // per buffer: True if size and offset are known before the first step
  bool is_load_time_packing = false;        // True if this plan writes the packed region

  size_t slots() const { return symbols + program.size(); }
  const fb::Buffer& buffer(uint32_t index) const { return *plan.buffers()->Get(index); }
};

Status check_states(Budget& budget, const ArtifactView& artifact,
                    const fb::EntryPoint& entry);  // verify_states.cpp
// Requires that check_states succeeded for all entry points.
Status check_shared_states(Budget& budget, const fb::Manifest& manifest);
Status check_buffers(PlanCheck& check);                                // verify_buffers.cpp; fills input_bound_buffer
Status check_sequences(const PlanCheck& check);                        // verify_steps.cpp
Status check_libraries(Budget& budget, const fb::Manifest& manifest);  // verify_calls.cpp
/// Checks a call step. Requires valid indices of buffers and slots.
/// False in libgart_cpu.so, which cannot run plans for GPUs. It does not verify them either, so that the linker leaves
/// these checks out.
bool runs_gpu_plans();

Status check_call(const PlanCheck& check, const fb::Step& step);
/// Checks that `step`, number `index` of `sequence`, may be the fallback of the call step that it names.
Status check_fallback(const fb::Sequence& sequence, const fb::Step& step, uint32_t index);
/// Checks that step number `index` of `sequence` may start while the step before it runs. Requires that its indices are
/// valid.
Status check_overlap(const PlanCheck& check, const fb::Sequence& sequence, uint32_t index);  // verify_overlap.cpp
Status check_waiting_kernel(Budget& budget, const fb::Kernel& kernel);
/// Checks a launch's tensor maps; adds the number of params that they take to `params`.
Status check_maps(const PlanCheck& check, const fb::Step& step, const fb::Kernel& kernel,
                  size_t& params);  // verify_maps.cpp
/// Checks that the plan may write the buffer.
Status check_writable(const PlanCheck& check, uint32_t buffer);  // verify_steps.cpp
// In verify_flow.cpp; requires that the other checks succeeded.
Status check_bind_order(const PlanCheck& check);

inline constexpr int64_t kCaller = -1;  // in `makers`: the caller provides the value
/// Checks that each group has a call and that groups have no cycle of values. `makers`: the call that makes each value.
/// Requires that all indices are valid.
Status check_group_order(const fb::Assembly& assembly, std::span<const int64_t> makers,
                         Budget& budget);  // verify_groups.cpp

}  // namespace gart::verify
