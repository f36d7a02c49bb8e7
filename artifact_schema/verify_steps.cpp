// Verifies the steps and sequences of a plan: fields of steps, indices, writable buffers, order, and the tree of
// bodies.
#include <algorithm>

#include "artifact_schema/verify_internal.h"

namespace gart::verify {

Status check_writable(const PlanCheck& check, uint32_t buffer) {
  const fb::BufferKind kind = check.buffer(buffer).kind();
  if (kind == fb::BufferKind::temporary || kind == fb::BufferKind::output) return {};
  if (kind == fb::BufferKind::packed && check.is_load_time_packing) return {};
  return failure("it writes buffer ", buffer, ", which is of kind ", fb::EnumNameBufferKind(kind));
}

namespace {

struct StepForm {
  size_t operands, params, bodies;
};
constexpr size_t kAny = ~size_t{0};

StepForm form_of(fb::StepKind kind) {
  switch (kind) {
    case fb::StepKind::launch:
      return {kAny, kAny, 0};
    case fb::StepKind::copy:
      return {2, 0, 0};
    case fb::StepKind::fill:
      return {1, 0, 0};
    case fb::StepKind::branch:
      return {1, 0, 2};
    case fb::StepKind::loop:
      return {0, 0, 1};
    case fb::StepKind::bind:
      return {1, 1, 0};
    case fb::StepKind::fail:
      return {0, kAny, 0};
    case fb::StepKind::call:
      return {kAny, kAny, 0};
  }
  return {};
}

Status check_form(const fb::Step& step) {
  const StepForm expected = form_of(step.kind());
  const size_t operands = count_of(step.operands()), params = count_of(step.params()), bodies = count_of(step.bodies());
  if (expected.operands != kAny && operands != expected.operands) {
    return failure("it has ", operands, " operands, ", fb::EnumNameStepKind(step.kind()), " takes ", expected.operands);
  }
  if (expected.params != kAny && params != expected.params) {
    return failure("it has ", params, " params, ", fb::EnumNameStepKind(step.kind()), " takes ", expected.params);
  }
  if (bodies != expected.bodies) {
    return failure("it has ", bodies, " bodies, ", fb::EnumNameStepKind(step.kind()), " takes ", expected.bodies);
  }
  return {};
}

Status check_index_data(const PlanCheck& check, const fb::Step& step) {
  const uint32_t count = count_of(step.indices());
  if (Status status = check.budget.spend(count); !status.ok()) return status;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::IndexCheck& data = *step.indices()->Get(i);
    if (Status status = check_index(data.operand(), count_of(step.operands()), "operand of indices", "operands");
        !status.ok())
      return status;
    if (Status status = check_index(data.limit(), check.slots(), "limit of indices", "slots"); !status.ok())
      return status;
    if (data.step() == 0) return failure("its indices are 0 elements apart");
  }
  return {};
}

Status check_launch(const PlanCheck& check, const fb::Step& step) {
  if (Status status = check_index(step.kernel(), count_of(check.plan.kernels()), "kernel", "kernels"); !status.ok())
    return status;
  const fb::Kernel& kernel = *check.plan.kernels()->Get(step.kernel());
  size_t params = kernel.params();
  if (runs_gpu_plans()) {
    if (Status status = check_maps(check, step, kernel, params); !status.ok()) return status;
  } else if (count_of(step.maps()) > 0) {
    return failure("it has tensor maps, but is for a CPU");
  }
  if (Status status = check_index_data(check, step); !status.ok()) return status;
  if (kernel.operands() != count_of(step.operands()) || params != count_of(step.params())) {
    return failure("it gives ", count_of(step.operands()), " operands and ", count_of(step.params()),
                   " params to kernel ", step.kernel(), ", which takes ", kernel.operands(), " and ", params);
  }
  const auto writes = span_of(step.writes());
  if (Status status = check_indices(check.budget, writes, count_of(step.operands()), "write", "operands"); !status.ok())
    return status;
  for (const uint32_t position : writes) {
    if (Status status = check_writable(check, step.operands()->Get(position)); !status.ok()) return status;
  }
  return {};
}

/// -1, or a buffer.
Status check_optional_buffer(const PlanCheck& check, int32_t buffer, const char* what) {
  return buffer == -1 ? Status{} : check_index(uint32_t(buffer), count_of(check.plan.buffers()), what, "buffers");
}

Status check_loop(const PlanCheck& check, const fb::Step& step) {
  const fb::Loop* loop = step.loop();
  if (loop == nullptr) return failure("it is a loop without a loop table");
  if (loop->trip_count() == -1 && loop->condition() == -1)
    return failure("it would never end: no trip count and no condition");
  if (Status status = check_optional_buffer(check, loop->trip_count(), "trip_count"); !status.ok()) return status;
  if (Status status = check_optional_buffer(check, loop->condition(), "condition"); !status.ok()) return status;
  if (Status status = check_optional_buffer(check, loop->iteration(), "iteration"); !status.ok()) return status;
  const auto from = span_of(loop->carried_from()), to = span_of(loop->carried_to());
  if (from.size() != to.size()) return failure("it carries ", from.size(), " buffers to ", to.size());
  if (Status status = check_indices(check.budget, from, count_of(check.plan.buffers()), "carried_from", "buffers");
      !status.ok())
    return status;
  if (Status status = check_indices(check.budget, to, count_of(check.plan.buffers()), "carried_to", "buffers");
      !status.ok())
    return status;
  for (const uint32_t buffer : to) {
    if (Status status = check_writable(check, buffer); !status.ok()) return status;
  }
  return loop->iteration() == -1 ? Status{} : check_writable(check, loop->iteration());
}

Status check_kind(const PlanCheck& check, const fb::Step& step) {
  switch (step.kind()) {
    case fb::StepKind::launch:
      return check_launch(check, step);
    case fb::StepKind::copy:
    case fb::StepKind::fill:
      return check_writable(check, step.operands()->Get(0));
    case fb::StepKind::loop:
      return check_loop(check, step);
    case fb::StepKind::bind: {
      const uint32_t symbol = step.params()->Get(0);
      if (Status status = check_index(symbol, check.symbols, "symbol", "symbols"); !status.ok()) return status;
      return check.input_bound[symbol] ? failure("it binds symbol ", symbol, ", which an input carries") : Status{};
    }
    case fb::StepKind::fail:
      if (const size_t params = count_of(step.params()); params != 0 && params != 2)
        return failure("it has ", params, " params, fail takes none or two");
      return {};
    case fb::StepKind::branch:
      return {};
    case fb::StepKind::call:
      return runs_gpu_plans() ? check_call(check, step) : failure("it calls a library, but is for a CPU");
  }
  return {};
}

Status check_step(const PlanCheck& check, const fb::Step& step, uint32_t index, uint32_t sequence) {
  if (step.kind() > fb::StepKind::MAX) return failure("its kind ", int(step.kind()), " is not known");
  if (Status status = check_form(step); !status.ok()) return status;
  if (Status status =
          check_indices(check.budget, span_of(step.operands()), count_of(check.plan.buffers()), "operand", "buffers");
      !status.ok())
    return status;
  if (Status status = check_indices(check.budget, span_of(step.params()), check.slots(), "param", "slots");
      !status.ok())
    return status;
  if (Status status = check_index(step.tasks(), check.slots(), "tasks", "slots"); !status.ok()) return status;
  if (Status status =
          check_index(static_cast<uint32_t>(std::max(step.operations(), 0)), check.slots(), "operations", "slots");
      !status.ok())
    return status;
  if (Status status = check_indices(check.budget, span_of(step.waits()), index, "wait", "earlier steps"); !status.ok())
    return status;
  if (Status status = check_indices(check.budget, span_of(step.bodies()), sequence, "body", "earlier sequences");
      !status.ok())
    return status;
  if (Status status = check_index(step.stream(), check.plan.streams(), "stream", "streams"); !status.ok())
    return status;
  if (Status status = check_string(check.budget, step.message(), "message"); !status.ok()) return status;
  if (Status status = check_string(check.budget, step.source(), "source"); !status.ok()) return status;
  if (count_of(step.maps()) != 0 &&
      (step.kind() != fb::StepKind::launch ||
       check.artifact.manifest->targets()->Get(check.plan.target())->kind() == fb::TargetKind::cpu))
    return failure("it has tensor maps, but is not a launch of a GPU");
  return check_kind(check, step);
}

/// Every sequence except the last, which is the entry, is the body of exactly one step; the nesting depth is bounded.
Status check_tree(const PlanCheck& check) {
  const auto& sequences = *check.plan.sequences();
  std::vector<size_t> uses(sequences.size()), depth(sequences.size(), 1);
  for (uint32_t i = 0; i < sequences.size(); ++i) {
    for (uint32_t s = 0; s < count_of(sequences.Get(i)->steps()); ++s) {
      for (const uint32_t body : span_of(sequences.Get(i)->steps()->Get(s)->bodies())) {
        ++uses[body];
        depth[i] = std::max(depth[i], depth[body] + 1);
      }
    }
    if (depth[i] > kMaxBodyDepth)
      return failure("sequence ", i, " nests ", depth[i], " deep, the limit is ", kMaxBodyDepth);
  }
  for (uint32_t i = 0; i + 1 < sequences.size(); ++i) {
    if (uses[i] != 1) return failure("sequence ", i, " is the body of ", uses[i], " steps instead of one");
  }
  return {};
}

}  // namespace

Status check_sequences(const PlanCheck& check) {
  if (count_of(check.plan.sequences()) == 0) return failure("it has no sequence of steps");
  if (check.plan.streams() > kMaxStreams)
    return failure("it has ", check.plan.streams(), " streams, the limit is ", kMaxStreams);
  for (uint32_t i = 0; i < check.plan.sequences()->size(); ++i) {
    const auto* steps = check.plan.sequences()->Get(i)->steps();
    for (uint32_t s = 0; s < count_of(steps); ++s) {
      const fb::Step& step = *steps->Get(s);
      Status status = check_step(check, step, s, i);
      if (status.ok()) status = check_fallback(*check.plan.sequences()->Get(i), step, s);
      if (status.ok() && runs_gpu_plans()) status = check_overlap(check, *check.plan.sequences()->Get(i), s);
      if (!status.ok()) {
        return within(status, text("sequence ", i, ", step ", s, " (", view_of(step.source()).substr(0, 80), ")"));
      }
    }
  }
  return check_tree(check);
}

}  // namespace gart::verify
