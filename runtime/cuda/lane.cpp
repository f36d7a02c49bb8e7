#include "runtime/cuda/lane.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/container.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"
#include "runtime/step_log.h"

namespace gart::cuda {
namespace {

/// Calls `run` for each part that becomes a graph: the whole segment or, if the host waits for every step, each of its
/// steps.
template <class Run>
void each_graph(bool blocking, const Segment& segment, const Run& run) {
  if (!blocking || segment.begin == segment.end) return run(segment);
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    Segment step = segment;
    step.begin = i;
    step.end = i + 1;
    step.inputs = segment.inputs && i == segment.begin;
    step.outputs = segment.outputs && step.end == segment.end;
    run(step);
  }
}

constexpr uint64_t kWorkspaceAlignment = 256;

CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

}  // namespace

std::unique_ptr<gart::Lane> Program::new_lane() { return std::make_unique<Lane>(*this); }

Lane::Lane(Program& program)
    : program_(program),
      device_(program.gpu()),
      stream_(device_),
      done_(device_),
      workspace_(&device_.memory),
      word_(&device_.pinned) {
  word_.reserve(sizeof(int64_t));
}

void Lane::drain() noexcept {
  if (!running_) return;
  const CurrentContext current(device_, std::nothrow);
  recorded_ ? device_.driver.cuEventSynchronize(done_.handle) : device_.driver.cuStreamSynchronize(running_on_);
  running_ = false;
}

void Lane::synchronize() {
  const CUresult result =
      recorded_ ? device_.driver.cuEventSynchronize(done_.handle) : device_.driver.cuStreamSynchronize(running_on_);
  if (result != CUDA_SUCCESS)
    device_.check(result, recorded_ ? "cuEventSynchronize" : "cuStreamSynchronize", enqueued_text());
}

std::string Lane::enqueued_text() const {
  if (enqueued_plan_ == nullptr) return {};
  const std::string steps = steps_text(*enqueued_plan_, enqueued_begin_, enqueued_end_);
  return enqueued_end_ - enqueued_begin_ < 2 ? steps : steps + " (load with `blocking` to see which)";
}

void Lane::note_enqueued(const Plan& plan, uint32_t begin, uint32_t end) {
  enqueued_begin_ = enqueued_plan_ == &plan ? std::min(enqueued_begin_, begin) : begin;
  enqueued_end_ = enqueued_plan_ == &plan ? std::max(enqueued_end_, end) : end;
  enqueued_plan_ = &plan;
}

void Lane::settle() {
  if (!running_) return;
  const CurrentContext current(device_);
  synchronize();
  running_ = false;
  enqueued_plan_ = nullptr;
  try {
    graphs_of(*running_plan_).check_statuses(*running_plan_);
  } catch (Failure& failure) {
    if (!failed_) failed_ = std::move(failure.error);
  }
}

void Lane::adopt(BoundPlan& plan) {
  const CurrentContext current(device_);
  if (plan.graphs == nullptr) {
    plan.graphs = std::make_unique<PlanGraphs>(device_, plan.plan(),
                                               program_.blocking() ? nullptr : program_.conditional_kernel());
  }
  program_.libraries().settle(plan);
}

void Lane::prepare(const Run& run) {
  open(run, {});
  run.inputs.expect(run.bound.inputs());
  run.bound.link(run.bases, run.inputs, run.outputs);
  note_places(run);
  running_on_ = stream_.handle;
  const Plan& plan = run.bound.plan();
  if (conditional_graph(run) == nullptr) {
    for (const Segment& segment : plan.segments) {
      const auto begin = plan.steps.begin() + segment.begin, end = plan.steps.begin() + segment.end;
      if (segment.decides) continue;
      if (std::any_of(begin, end, [](const PlanStep& step) { return step.run_bound; })) continue;
      each_graph(program_.blocking(), segment, [&](const Segment& part) { updated_graph(run, part); });
    }
  }
  close();
}

/// Runs with host memory wait for the previous run, because they use its staging memory.
void Lane::open(const Run& run, const Queue& queue) {
  current_.emplace(device_);
  const CUstream stream = queue.is_own ? stream_.handle : static_cast<CUstream>(queue.stream);
  if (running_) {
    if (queue.is_own || !recorded_ || run.inputs.any_on_host() || run.outputs.any_on_host()) {
      settle();
    } else if (stream != running_on_) {
      GART_CUDA(device_, cuStreamWaitEvent, stream, done_.handle, 0u);
    }
  }
  own_stream_ = queue.is_own;
  next_stream_ = stream;
  const size_t alignment = graphs_of(run.bound).conditional() == nullptr ? kAlignment : 0;
  run.inputs.use_in_place(alignment);
  run.outputs.use_in_place(alignment);
}

void Lane::note_places(const Run& run) {
  if (bases_ == run.bases) return;
  bases_ = run.bases;
  ++generation_;
}

bool Lane::start(const Run& run) {
  note_places(run);
  running_ = true;
  recorded_ = false;
  running_on_ = next_stream_;
  running_plan_ = &run.bound;
  ConditionalGraph* graph = conditional_graph(run);
  if (graph == nullptr) return false;
  note_enqueued(run.bound.plan(), 0, static_cast<uint32_t>(run.bound.plan().steps.size()));
  graph->launch(running_on_);
  return true;
}

void Lane::close() {
  if (running_ && !own_stream_) {
    GART_CUDA(device_, cuEventRecord, done_.handle, running_on_);
    recorded_ = true;
  }
  current_.reset();
}

/// Waits for the work that a failed run enqueued on the caller's stream, because the stream may not exist at the next
/// run.
void Lane::abandon() noexcept {
  try {
    if (!own_stream_) settle();
  } catch (...) {
    running_ = false;
  }
  current_.reset();
}

void Lane::finish() {
  settle();
  if (!failed_) return;
  Failure failure{std::move(*failed_)};
  failed_.reset();
  throw failure;
}

GraphContext Lane::graph_context(const Run& run) {
  const Plan& plan = run.bound.plan();
  const int64_t stride =
      static_cast<int64_t>(align_up(static_cast<uint64_t>(run.bound.scratch_bytes()), kWorkspaceAlignment));
  const int64_t bytes = stride * plan.manifest->streams();
  if (bytes > 0 && workspace_.reserve(static_cast<size_t>(bytes))) ++generation_;
  return {running_on_,
          run.bound,
          run.inputs,
          run.outputs,
          workspace_.data(),
          stride,
          graphs_of(run.bound).statuses(),
          generation_,
          program_.libraries()};
}

ConditionalGraph* Lane::conditional_graph(const Run& run) {
  PlanGraphs& graphs = graphs_of(run.bound);
  ConditionalGraph* graph = graphs.conditional();
  if (graph == nullptr) return nullptr;
  const GraphContext context = graph_context(run);
  if (graph->must_go(context)) synchronize();
  try {
    graph->update(context);
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::unsupported) throw;
    graphs.give_up_conditional();
  }
  return graphs.conditional();
}

SegmentGraph& Lane::updated_graph(const Run& run, const Segment& segment) {
  SegmentGraph& graph = graphs_of(run.bound).segment(segment);
  const GraphContext context = graph_context(run);
  if (graph.must_go(context)) synchronize();
  graph.update(context);
  return graph;
}

void Lane::enqueue(const Run& run, const Segment& segment) {
  each_graph(program_.blocking(), segment, [&](const Segment& part) { enqueue_one(run, part); });
}

void Lane::enqueue_one(const Run& run, const Segment& segment) {
  SegmentGraph& graph = updated_graph(run, segment);
  note_enqueued(run.bound.plan(), segment.begin, segment.end);
  const bool one_step = program_.blocking() && segment.begin < segment.end;
  if (one_step && run.bound.log != nullptr) return launch_timed(run, graph, segment.begin);
  graph.launch(running_on_);
  if (program_.blocking()) wait(run);
}

void Lane::launch_timed(const Run& run, SegmentGraph& graph, uint32_t step) {
  const Event before(device_, 0), after(device_, 0);
  const int64_t begin = StepLog::now();
  GART_CUDA(device_, cuEventRecord, before.handle, running_on_);
  graph.launch(running_on_);
  GART_CUDA(device_, cuEventRecord, after.handle, running_on_);
  wait(run);
  float milliseconds = 0;
  GART_CUDA(device_, cuEventElapsedTime, &milliseconds, before.handle, after.handle);
  run.bound.log->note({step, 0, begin, begin + static_cast<int64_t>(double(milliseconds) * 1e6)});
}

void Lane::wait(const Run& run) {
  synchronize();
  enqueued_plan_ = nullptr;
  graphs_of(run.bound).check_statuses(run.bound);
}

const void* Lane::host_copy(const Run& run, uint32_t index) const {
  const Plan& plan = run.bound.plan();
  const uint32_t base = plan.base_of(index);
  const fb::Buffer& buffer = plan.buffer(base);
  const auto past_base =
      static_cast<const uint8_t*>(run.bound.address(index)) - static_cast<const uint8_t*>(run.bound.address(base));
  if (buffer.kind() == fb::BufferKind::constant) return program_.host_weights().data() + buffer.offset() + past_base;
  if (buffer.kind() != fb::BufferKind::input) return nullptr;
  const auto* data = static_cast<const uint8_t*>(run.inputs.host_data(buffer.index()));
  return data == nullptr ? nullptr : data + past_base;
}

void Lane::read(const Run& run, uint32_t buffer, void* to, size_t bytes) {
  const void* data = host_copy(run, buffer);
  if (data == nullptr) {
    data = word_.data();
    GART_CUDA(device_, cuMemcpyDtoHAsync_v2, word_.data(), device_pointer(run.bound.address(buffer)), bytes,
              running_on_);
    wait(run);
  }
  std::memcpy(to, data, bytes);
}

void Lane::fill(const Run&, void* to, uint32_t word) {
  GART_CUDA(device_, cuMemsetD32Async, device_pointer(to), word, size_t{1}, running_on_);
}

void Lane::copy(const Run&, void* to, const void* from, size_t bytes) {
  GART_CUDA(device_, cuMemcpyDtoDAsync_v2, device_pointer(to), device_pointer(from), bytes, running_on_);
}

}  // namespace gart::cuda
