// Verifies the buffers of a plan: kinds, views, the time when sizes are known, and the arena of a static plan.
#include "artifact_schema/buffer_plan.h"
#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

Status check_view(const PlanCheck& check, uint32_t index) {
  const fb::Buffer& view = check.buffer(index);
  if (view.alias_of() < 0 || uint32_t(view.alias_of()) >= index) {
    return failure("it is a view of buffer ", view.alias_of(), ", not a lower one");
  }
  const fb::Buffer& base = check.buffer(view.alias_of());
  if (base.alias_of() != -1) return failure("it is a view of buffer ", view.alias_of(), ", which is a view itself");
  if (base.kind() != view.kind() || base.index() != view.index()) {
    return failure("it differs in kind or index from buffer ", view.alias_of(), ", which it is a view of");
  }
  return check_index(view.alias_offset(), check.slots(), "alias_offset", "slots");
}

Status check_buffer(const PlanCheck& check, uint32_t index) {
  const fb::Buffer& buffer = check.buffer(index);
  if (buffer.kind() > fb::BufferKind::MAX) return failure("its kind ", int(buffer.kind()), " is not known");
  if (Status status = check_index(buffer.size(), check.slots(), "size", "slots"); !status.ok()) return status;
  const bool input = buffer.kind() == fb::BufferKind::input, output = buffer.kind() == fb::BufferKind::output;
  if (input || output) {
    const size_t limit = count_of(input ? check.entry.inputs() : check.entry.outputs());
    Status status = check_index(buffer.index(), limit, "index", input ? "inputs" : "outputs");
    if (!status.ok()) return status;
  }
  if (buffer.alias_of() != -1) return check_view(check, index);
  if (!check.input_bound[buffer.size()] && (input || buffer.kind() == fb::BufferKind::constant)) {
    return failure("an input's or constant's size depends on a symbol that is only bound during the run");
  }
  return {};
}

/// Each output is written through exactly one buffer (and its views).
Status check_outputs(const PlanCheck& check) {
  std::vector<int> buffers(count_of(check.entry.outputs()));
  for (uint32_t i = 0; i < count_of(check.plan.buffers()); ++i) {
    const fb::Buffer& buffer = check.buffer(i);
    if (buffer.kind() == fb::BufferKind::output && buffer.alias_of() == -1) ++buffers[buffer.index()];
  }
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] != 1) return failure("output ", i, " has ", buffers[i], " buffers instead of one");
  }
  return {};
}

bool is_placeable(const PlanCheck& check, uint32_t index) {
  const fb::Buffer& buffer = check.buffer(index);
  return buffer.kind() == fb::BufferKind::temporary && buffer.alias_of() == -1;
}

Status check_conflicts(const PlanCheck& check, uint32_t index) {
  const auto conflicts = span_of(check.buffer(index).conflicts());
  if (Status status = check_indices(check.budget, conflicts, check.input_bound_buffer.size(), "conflict", "buffers");
      !status.ok())
    return status;
  for (const uint32_t other : conflicts) {
    if (other == index || !is_placeable(check, other)) return failure("it cannot conflict with buffer ", other);
  }
  return {};
}

/// A symbolic plan places each of its temporaries once.
Status check_placement(const PlanCheck& check) {
  const auto placement = span_of(check.plan.placement());
  const size_t buffers = check.input_bound_buffer.size();
  if (Status status = check_indices(check.budget, placement, buffers, "placement", "buffers"); !status.ok())
    return status;
  std::vector<uint8_t> placed(buffers);
  for (const uint32_t index : placement) {
    if (!is_placeable(check, index) || placed[index])
      return failure("placement of buffer ", index, ": not a temporary, or placed twice");
    placed[index] = 1;
    if (Status status = check_conflicts(check, index); !status.ok()) return within(status, text("buffer ", index));
  }
  for (uint32_t i = 0; i < buffers && !placement.empty(); ++i) {
    if (is_placeable(check, i) && check.input_bound_buffer[i] && !placed[i])
      return failure("temporary buffer ", i, " is never placed");
  }
  return {};
}

/// Checks the sizes and offsets that the fixed symbols determine. In a plan without placement they must determine all
/// temporaries.
Status check_extents(const PlanCheck& check) {
  if (check.plan.arena_bytes() > uint64_t(kMaxExtent) || check.plan.arena_lower_bound() > check.plan.arena_bytes()) {
    return failure("the arena has ", check.plan.arena_bytes(), " bytes and a lower bound of ",
                   check.plan.arena_lower_bound(), "; at most ", kMaxExtent,
                   " are possible, and no less than the bound");
  }
  Slots slots(check.slots());
  const auto fixed = span_of(check.plan.fixed());
  for (uint32_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] >= 0) slots.set(i, fixed[i]);
  }
  if (Status status = evaluate(check.program, check.symbols, slots); !status.ok()) return status;
  std::vector<BufferExtent> extents;
  if (Status status = measure_buffers(check.plan, slots, check.artifact.weights().size(), extents); !status.ok())
    return status;
  for (uint32_t i = 0; i < extents.size(); ++i) {
    const bool needs_place =
        is_placeable(check, i) && check.input_bound_buffer[i] && count_of(check.plan.placement()) == 0;
    if (needs_place && extents[i].offset < 0) {
      return failure("buffer ", i, " has a symbolic size, but the plan has no placement");
    }
  }
  return {};
}

}  // namespace

Status check_buffers(PlanCheck& check) {
  const uint32_t count = count_of(check.plan.buffers());
  check.input_bound_buffer.assign(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    if (Status status = check_buffer(check, i); !status.ok()) return within(status, text("buffer ", i));
    const fb::Buffer& buffer = check.buffer(i);
    const bool view = buffer.alias_of() >= 0;
    check.input_bound_buffer[i] =
        check.input_bound[buffer.size()] &&
        (!view || (check.input_bound[buffer.alias_offset()] && check.input_bound_buffer[buffer.alias_of()]));
  }
  if (Status status = check_outputs(check); !status.ok()) return status;
  if (Status status = check_placement(check); !status.ok()) return status;
  return check_extents(check);
}

}  // namespace gart::verify
