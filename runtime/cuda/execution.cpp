#include "runtime/cuda/execution.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/container.h"
#include "runtime/errors.h"
#include "runtime/step_log.h"
#include "runtime/step_errors.h"

namespace gart::cuda {
namespace {

constexpr uint64_t kWorkspaceAlignment = 256;

CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

}  // namespace

Result<void> Execution::run() {
  reserve_workspace();
  if (SteeredGraph* graph = steered_graph()) {
    c_.session.note_enqueued(plan_, 0, static_cast<uint32_t>(plan_.steps.size()));
    graph->launch(c_.stream);
    return {};
  }
  return sequence(static_cast<uint32_t>(plan_.sequence_begin.size()) - 2);
}

void Execution::prepare() {
  reserve_workspace();
  if (steered_graph() != nullptr) return;
  const auto build = [&](const Segment& segment) {
    const auto begin = plan_.steps.begin() + segment.steps.begin, end = plan_.steps.begin() + segment.steps.end;
    if (std::none_of(begin, end, [](const PlanStep& step) { return step.late; })) updated_graph(segment);
    return Result<void>();
  };
  for (uint32_t i = 0; i + 1 < plan_.sequence_begin.size(); ++i) {
    [[maybe_unused]] Result<void> done = walk(
        i, build, [](uint32_t, uint32_t) { return Result<void>(); }, [](uint32_t) { return Result<void>(); });
  }
}

GraphContext Execution::graph_context() const {
  return {c_.stream,
          c_.bound,
          c_.inputs,
          c_.outputs,
          c_.session.workspace_.data(),
          workspace_stride(),
          c_.graphs.statuses(),
          c_.session.generation_,
          c_.session.program_.libraries()};
}

SteeredGraph* Execution::steered_graph() {
  SteeredGraph* graph = c_.graphs.steered();
  if (graph == nullptr) return nullptr;
  const GraphContext context = graph_context();
  if (graph->must_go(context)) c_.session.synchronize();
  try {
    graph->update(context);
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::unsupported) throw;
    c_.graphs.give_up_steering();
  }
  return c_.graphs.steered();
}

int64_t Execution::workspace_stride() const {
  return static_cast<int64_t>(align_up(static_cast<uint64_t>(c_.bound.workspace_bytes()), kWorkspaceAlignment));
}

void Execution::reserve_workspace() {
  const int64_t bytes = workspace_stride() * plan_.manifest->streams();
  if (bytes > 0 && c_.session.workspace_.reserve(static_cast<size_t>(bytes))) ++c_.session.generation_;
}

/// The copies of inputs and outputs are in the graphs of the entry sequence's first and last steps, or in graphs of their
/// own where what the host does comes first or last.
template <class OnSegment, class OnHost, class OnControl>
Result<void> Execution::walk(uint32_t index, OnSegment at, OnHost host, OnControl control) {
  const uint32_t begin = plan_.sequence_begin[index], end = plan_.sequence_begin[index + 1];
  const bool entry = index + 2 == plan_.sequence_begin.size();
  const bool starts = begin < end && is_enqueued(plan_.steps[begin]);
  if (entry && !starts) GART_TRY(at(Segment{{begin, begin, begin}, true, begin == end}));
  for (uint32_t i = begin; i < end;) {
    const PlanStep& step = plan_.steps[i];
    if (!runs_in_team(step.kind)) {
      GART_TRY(control(i++));
      continue;
    }
    const uint32_t run_end = c_.session.program_.blocking() ? i + 1 : step.run_end;
    if (step.on_host) {
      GART_TRY(host(i, run_end));
    } else {
      GART_TRY(at(Segment{{begin, i, run_end}, entry && i == begin, entry && run_end == end}));
    }
    i = run_end;
  }
  if (entry && begin < end && !is_enqueued(plan_.steps[end - 1])) GART_TRY(at(Segment{{begin, end, end}, false, true}));
  return {};
}

Result<void> Execution::sequence(uint32_t index) {
  return walk(
      index, [&](const Segment& segment) { return enqueue(segment); },
      [&](uint32_t begin, uint32_t end) { return run_on_host(begin, end); }, [&](uint32_t step) { return control(step); });
}

Result<void> Execution::enqueue(const Segment& segment) {
  SegmentGraph& graph = updated_graph(segment);
  c_.session.note_enqueued(plan_, segment.steps.begin, segment.steps.end);
  const bool one_step = c_.session.program_.blocking() && segment.steps.begin < segment.steps.end;
  if (one_step && c_.bound.log != nullptr) return enqueue_timed(graph, segment.steps.begin);
  graph.launch(c_.stream);
  return c_.session.program_.blocking() ? wait() : Result<void>();
}

Result<void> Execution::enqueue_timed(SegmentGraph& graph, uint32_t step) {
  const Event before(device_, 0), behind(device_, 0);
  const int64_t begin = StepLog::now();
  GART_CUDA(device_, cuEventRecord, before.handle, c_.stream);
  graph.launch(c_.stream);
  GART_CUDA(device_, cuEventRecord, behind.handle, c_.stream);
  GART_TRY(wait());
  float milliseconds = 0;
  GART_CUDA(device_, cuEventElapsedTime, &milliseconds, before.handle, behind.handle);
  c_.bound.log->note({step, 0, begin, begin + static_cast<int64_t>(double(milliseconds) * 1e6)});
  return {};
}

Result<void> Execution::run_on_host(uint32_t begin, uint32_t end) {
  GART_TRY(wait());
  return c_.session.run_on_host(c_.bound, c_.outputs, begin, end);
}

SegmentGraph& Execution::updated_graph(const Segment& segment) {
  SegmentGraph& graph = c_.graphs.segment(segment);
  const GraphContext context = graph_context();
  if (graph.must_go(context)) c_.session.synchronize();
  graph.update(context);
  return graph;
}

Result<void> Execution::control(uint32_t index) {
  const PlanStep& step = plan_.steps[index];
  switch (step.kind) {
    case fb::StepKind::branch:
      return branch(step);
    case fb::StepKind::loop:
      return loop(step);
    case fb::StepKind::bind:
      return bind(step);
    default:
      return fail_step(step, index);
  }
}

Result<void> Execution::wait() {
  c_.session.synchronize();
  c_.session.forget_enqueued();
  return c_.graphs.check_statuses(c_.bound);
}

/// Constants are in the artifact, and inputs from host memory in their staging memory.
const void* Execution::host_copy(uint32_t index) const {
  const uint32_t base = plan_.base_of(index);
  const fb::Buffer& buffer = plan_.buffer(base);
  const auto behind_base = static_cast<const uint8_t*>(c_.bound.address(index)) -
                           static_cast<const uint8_t*>(c_.bound.address(base));
  if (buffer.kind() == fb::BufferKind::constant) {
    return c_.session.program_.host_weights().data() + buffer.offset() + behind_base;
  }
  if (buffer.kind() != fb::BufferKind::input) return nullptr;
  const auto* data = static_cast<const uint8_t*>(c_.inputs.host_data(buffer.index()));
  return data == nullptr ? nullptr : data + behind_base;
}

Result<void> Execution::check_size(int32_t buffer, int64_t bytes) const {
  const int64_t has = c_.bound.bytes(static_cast<uint32_t>(buffer));
  if (has >= bytes) return {};
  return error(ErrorCode::invalid_artifact, "buffer ", buffer, " has ", has,
               " bytes, but a step uses it for a value of ", bytes);
}

template <class T>
Result<T> Execution::scalar(int32_t buffer) {
  GART_TRY(check_size(buffer, sizeof(T)));
  const uint32_t index = static_cast<uint32_t>(buffer);
  T value;
  if (const void* data = host_copy(index)) {
    std::memcpy(&value, data, sizeof value);
    return value;
  }
  void* word = c_.session.word_.data();
  GART_CUDA(device_, cuMemcpyDtoHAsync_v2, word, device_pointer(c_.bound.address(index)), sizeof value, c_.stream);
  GART_TRY(wait());
  std::memcpy(&value, word, sizeof value);
  return value;
}

Result<void> Execution::branch(const PlanStep& step) {
  Result<uint8_t> condition = scalar<uint8_t>(int32_t(plan_.operands[step.first_operand]));
  if (!condition) return condition.error();
  return sequence(step.manifest->bodies()->Get(*condition != 0 ? 0 : 1));
}

Result<void> Execution::loop(const PlanStep& step) {
  const fb::Loop& loop = *step.manifest->loop();
  int64_t trips = INT64_MAX;
  if (loop.trip_count() >= 0) {
    Result<int64_t> count = scalar<int64_t>(loop.trip_count());
    if (!count) return count.error();
    trips = *count;
  }
  for (int64_t i = 0; i < trips; ++i) {
    if (loop.condition() >= 0) {
      Result<uint8_t> condition = scalar<uint8_t>(loop.condition());
      if (!condition) return condition.error();
      if (*condition == 0) break;
    }
    if (loop.iteration() >= 0) {
      GART_TRY(check_size(loop.iteration(), sizeof i));
      write_iteration(loop.iteration(), i);
    }
    GART_TRY(sequence(step.manifest->bodies()->Get(0)));
    GART_TRY(carry(loop));
  }
  return {};
}

/// As two fills, whose values travel with the calls: nothing on the host must stay unchanged until the device gets there.
void Execution::write_iteration(int32_t buffer, int64_t value) {
  const CUdeviceptr address = device_pointer(c_.bound.address(static_cast<uint32_t>(buffer)));
  GART_CUDA(device_, cuMemsetD32Async, address, static_cast<uint32_t>(value), size_t{1}, c_.stream);
  if (value > 0 && (value & UINT32_MAX) != 0) return;
  GART_CUDA(device_, cuMemsetD32Async, address + 4, static_cast<uint32_t>(value >> 32), size_t{1}, c_.stream);
}

Result<void> Execution::carry(const fb::Loop& loop) {
  const auto from = span_of(loop.carried_from()), to = span_of(loop.carried_to());
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t bytes = c_.bound.bytes(from[i]);
    if (bytes != c_.bound.bytes(to[i])) {
      return error(ErrorCode::run_failed, "a loop carries ", bytes, " bytes into a buffer of ",
                   c_.bound.bytes(to[i]));
    }
    const void *source = c_.bound.address(from[i]), *destination = c_.bound.address(to[i]);
    if (bytes == 0 || source == destination) continue;
    GART_CUDA(device_, cuMemcpyDtoDAsync_v2, device_pointer(destination), device_pointer(source),
              static_cast<size_t>(bytes), c_.stream);
  }
  return {};
}

Result<void> Execution::bind(const PlanStep& step) {
  Result<int64_t> value = scalar<int64_t>(int32_t(plan_.operands[step.first_operand]));
  if (!value) return value.error();
  GART_TRY(c_.bound.bind_symbol(plan_.params[step.first_param], *value, c_.outputs));
  reserve_workspace();
  return {};
}

Result<void> Execution::fail_step(const PlanStep& step, uint32_t index) {
  const int64_t* params = c_.bound.step(index).params;
  const bool conditional = step.params != 0;
  if (conditional && params[0] == params[1]) return {};
  GART_TRY(wait());  // what went wrong before this step is what the caller is to hear
  return fail_error(*step.manifest, conditional ? params[0] : 0, conditional ? params[1] : 0);
}

}  // namespace gart::cuda
