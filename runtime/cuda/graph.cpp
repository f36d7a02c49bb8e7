#include "runtime/cuda/graph.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::cuda {
namespace {

CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

template <class T, class U>
bool assign(T& place, U value) {
  const bool changed = place != static_cast<T>(value);
  place = static_cast<T>(value);
  return changed;
}

bool has_work(const PlanStep& step, const BoundStep& bound) {
  if (step.kind == fb::StepKind::launch) return bound.tasks > 0;
  return bound.bytes > 0 && (step.kind == fb::StepKind::fill || bound.operands[0] != bound.operands[1]);
}

Transfer copy_of(const PlanStep& step, const BoundStep& bound) {
  const auto *to = static_cast<const uint8_t*>(bound.operands[0]), *from = static_cast<const uint8_t*>(bound.operands[1]);
  if (to < from + bound.bytes && from < to + bound.bytes) {
    fail(ErrorCode::unsupported, "step '", view_of(step.manifest->source()), "' copies ", bound.bytes,
         " bytes onto themselves");
  }
  return {Transfer::Kind::on_device, bound.operands[0], from, bound.bytes};
}

}  // namespace

SegmentGraph::SegmentGraph(Device& device, const Plan& plan, const Segment& segment)
    : device_(device), plan_(plan), segment_(segment) {
  std::vector<uint32_t> last(plan.manifest->streams(), kNone);
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const PlanStep& step = plan.steps[i];
    late_ = late_ || step.late;
    uint8_t moving = 0;
    for (uint32_t o = 0; o < step.operands; ++o) {
      const fb::BufferKind kind = plan.buffer(plan.operands[step.first_operand + o]).kind();
      if (kind == fb::BufferKind::input || kind == fb::BufferKind::output) moving = 1;
    }
    moving_.push_back(moving);
    previous_.push_back(std::exchange(last[step.manifest->stream()], i));
  }
}

void SegmentGraph::clear() {
  if (graph_ != nullptr) {
    const CurrentContext current(device_, std::nothrow);
    if (exec_ != nullptr) device_.driver.cuGraphExecDestroy(exec_);
    device_.driver.cuGraphDestroy(graph_);
  }
  exec_ = nullptr;
  graph_ = nullptr;
  built_ = false;
  nodes_.clear();
}

void SegmentGraph::list_work(const GraphContext& c, std::vector<std::pair<Work, uint32_t>>& list) const {
  list.clear();
  for (uint32_t i = 0; segment_.inputs && i < c.inputs.count(); ++i) {
    if (c.inputs.transfer(i).kind != Transfer::Kind::none) list.emplace_back(Work::input, i);
  }
  for (uint32_t i = segment_.begin; i < segment_.end; ++i) {
    if (has_work(plan_.steps[i], c.bound.step(i))) list.emplace_back(Work::step, i);
  }
  for (uint32_t i = 0; segment_.outputs && i < c.outputs.count(); ++i) {
    if (c.outputs.transfer(i).kind != Transfer::Kind::none) list.emplace_back(Work::output, i);
  }
}

bool SegmentGraph::same_work(const GraphContext& c) {
  list_work(c, wanted_);
  return std::equal(wanted_.begin(), wanted_.end(), nodes_.begin(), nodes_.end(),
                    [](const auto& wanted, const Node& node) {
                      return wanted.first == node.work && wanted.second == node.index;
                    });
}

bool SegmentGraph::same_copies(const GraphContext& c) const {
  size_t at = 0;
  for (size_t i = 0; segment_.inputs && i < c.inputs.count(); ++i) {
    if (copies_[at++] != c.inputs.transfer(i).kind) return false;
  }
  for (size_t i = 0; segment_.outputs && i < c.outputs.count(); ++i) {
    if (copies_[at++] != c.outputs.transfer(i).kind) return false;
  }
  return true;
}

void SegmentGraph::note_copies(const GraphContext& c) {
  copies_.clear();
  for (size_t i = 0; segment_.inputs && i < c.inputs.count(); ++i) copies_.push_back(c.inputs.transfer(i).kind);
  for (size_t i = 0; segment_.outputs && i < c.outputs.count(); ++i) copies_.push_back(c.outputs.transfer(i).kind);
}

bool SegmentGraph::fits(const GraphContext& c) {
  return built_ && same_copies(c) && ((!late_ && generation_ == c.generation) || same_work(c));
}

bool SegmentGraph::must_go(const GraphContext& c) { return exec_ != nullptr && !fits(c); }

void SegmentGraph::update(const GraphContext& c) {
  if (!fits(c)) return build(c);
  const bool all = late_ || generation_ != c.generation;
  built_ = false;
  for (Node& node : nodes_) {
    if (!all && node.work == Work::step && moving_[node.index - segment_.begin] == 0) continue;
    if (!refresh(node, c)) continue;
    const CUresult result = device_.driver.cuGraphExecNodeSetParams(exec_, node.handle, &node.params);
    if (result == CUDA_SUCCESS) continue;
    const bool step = node.work == Work::step;
    device_.check(result, "cuGraphExecNodeSetParams", step ? steps_text(plan_, node.index, node.index + 1) : "a copy");
  }
  generation_ = c.generation;
  built_ = true;
}

void SegmentGraph::launch(CUstream stream) {
  if (exec_ == nullptr) return;
  const CUresult result = device_.driver.cuGraphLaunch(exec_, stream);
  if (result == CUDA_SUCCESS) return;
  device_.check(result, "cuGraphLaunch", steps_text(plan_, segment_.begin, segment_.end));
}

void SegmentGraph::build(const GraphContext& c) {
  clear();
  list_work(c, wanted_);
  note_copies(c);
  if (!wanted_.empty()) GART_CUDA(device_, cuGraphCreate, &graph_, 0u);
  nodes_.reserve(wanted_.size());
  input_copies_.assign(c.inputs.count(), nullptr);
  std::vector<Nodes> done(segment_.end - segment_.begin);  // per step: the nodes after which it is done
  std::vector<Nodes> written(c.outputs.count());           // per output: those after which it is written
  Nodes dependencies;
  auto next = wanted_.begin();
  for (; next != wanted_.end() && next->first == Work::input; ++next) {
    dependencies.clear();
    add_node(prepare(Work::input, next->second, c), dependencies);
    input_copies_[next->second] = nodes_.back().handle;
  }
  for (uint32_t i = segment_.begin; i < segment_.end; ++i) {
    Nodes& mine = done[i - segment_.begin];
    collect_dependencies(i, done, mine);
    if (next != wanted_.end() && next->first == Work::step && next->second == i) {
      ++next;
      add_node(prepare(Work::step, i, c), mine);
      mine.assign(1, nodes_.back().handle);
    }
    const PlanStep& step = plan_.steps[i];
    for (uint32_t o = 0; o < step.operands; ++o) {
      const fb::Buffer& buffer = plan_.buffer(plan_.operands[step.first_operand + o]);
      if (buffer.kind() != fb::BufferKind::output || !writes_operand(step, o)) continue;
      Nodes& writers = written[buffer.index()];
      writers.insert(writers.end(), mine.begin(), mine.end());
    }
  }
  for (; next != wanted_.end(); ++next) add_node(prepare(Work::output, next->second, c), written[next->second]);
  if (!nodes_.empty()) instantiate(c);
  generation_ = c.generation;
  built_ = true;
}

/// A step comes after the one before it on its stream, after those it waits for, and after the copies of what it reads.
/// Steps outside the segment are ordered by the stream that the graphs are launched on.
void SegmentGraph::collect_dependencies(uint32_t index, const std::vector<Nodes>& done, Nodes& out) const {
  const PlanStep& step = plan_.steps[index];
  const auto after = [&](uint32_t other) {
    if (other < segment_.begin || other >= segment_.end) return;
    const Nodes& nodes = done[other - segment_.begin];
    out.insert(out.end(), nodes.begin(), nodes.end());
  };
  after(previous_[index - segment_.begin]);
  for (const uint32_t wait : span_of(step.manifest->waits())) after(segment_.sequence + wait);
  for (uint32_t o = 0; o < step.operands; ++o) {
    const fb::Buffer& buffer = plan_.buffer(plan_.operands[step.first_operand + o]);
    if (buffer.kind() != fb::BufferKind::input || input_copies_[buffer.index()] == nullptr) continue;
    out.push_back(input_copies_[buffer.index()]);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

void SegmentGraph::add_node(const Node& prepared, Nodes& dependencies) {
  std::sort(dependencies.begin(), dependencies.end());
  dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
  nodes_.push_back(prepared);
  Node& node = nodes_.back();
  for (size_t i = 0; i < node.values.size(); ++i) node.pointers[i] = &node.values[i];
  if (node.params.type == CU_GRAPH_NODE_TYPE_KERNEL) node.params.kernel.kernelParams = node.pointers.data();
  const CUresult result = device_.driver.cuGraphAddNode_v2(&node.handle, graph_, dependencies.data(), nullptr,
                                                           dependencies.size(), &node.params);
  if (result == CUDA_SUCCESS) return;
  device_.check(result, "cuGraphAddNode_v2",
                node.work == Work::step ? steps_text(plan_, node.index, node.index + 1) : "a copy");
}

void SegmentGraph::instantiate(const GraphContext& c) {
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, c.stream, nullptr,
                                          CUDA_GRAPH_INSTANTIATE_SUCCESS};
  const CUresult result = device_.driver.cuGraphInstantiateWithParams(&exec_, graph_, &params);
  if (result == CUDA_SUCCESS) return;
  exec_ = nullptr;
  const auto bad = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return node.work == Work::step && params.hErrNode_out != nullptr && node.handle == params.hErrNode_out;
  });
  const bool known = bad != nodes_.end();
  device_.check(result, "cuGraphInstantiateWithParams",
                steps_text(plan_, known ? bad->index : segment_.begin, known ? bad->index + 1 : segment_.end));
}

SegmentGraph::Node SegmentGraph::prepare(Work work, uint32_t index, const GraphContext& c) const {
  Node node{work, index};
  CUgraphNodeParams& params = node.params;
  const PlanStep* step = work == Work::step ? &plan_.steps[index] : nullptr;
  if (step != nullptr && step->kind == fb::StepKind::launch) {
    const fb::Kernel& kernel = *plan_.manifest->kernels()->Get(step->manifest->kernel());
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel.func = static_cast<CUfunction>(step->function);
    params.kernel.gridDimY = params.kernel.gridDimZ = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.blockDimX = kernel.threads();
    params.kernel.sharedMemBytes = kernel.shared();
    node.values.resize(step->operands + step->params + 2);
    node.pointers.resize(node.values.size());
  } else if (step != nullptr && step->kind == fb::StepKind::fill) {
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset.elementSize = 1;
    params.memset.height = 1;
    params.memset.ctx = device_.context;
  } else {
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    params.memcpy.copyCtx = device_.context;
    params.memcpy.copyParams.Height = params.memcpy.copyParams.Depth = 1;
  }
  refresh(node, c);
  return node;
}

bool SegmentGraph::refresh(Node& node, const GraphContext& c) const {
  if (node.work == Work::input) return refresh_copy(node, c.inputs.transfer(node.index));
  if (node.work == Work::output) return refresh_copy(node, c.outputs.transfer(node.index));
  const PlanStep& step = plan_.steps[node.index];
  const BoundStep& bound = c.bound.step(node.index);
  if (step.kind == fb::StepKind::launch) return refresh_kernel(node, c);
  return step.kind == fb::StepKind::fill ? refresh_fill(node, bound, step.value)
                                         : refresh_copy(node, copy_of(step, bound));
}

bool SegmentGraph::refresh_kernel(Node& node, const GraphContext& c) const {
  const PlanStep& step = plan_.steps[node.index];
  const BoundStep& bound = c.bound.step(node.index);
  if (bound.tasks > INT32_MAX) {
    fail(ErrorCode::run_failed, "step '", view_of(step.manifest->source()), "' would need ", bound.tasks,
         " thread blocks, the limit is ", INT32_MAX);
  }
  bool changed = assign(node.params.kernel.gridDimX, bound.tasks);
  uint64_t* value = node.values.data();
  for (uint32_t i = 0; i < step.operands; ++i) changed |= assign(*value++, device_pointer(bound.operands[i]));
  for (uint32_t i = 0; i < step.params; ++i) changed |= assign(*value++, bound.params[i]);
  changed |= assign(*value++, device_pointer(c.workspace + step.manifest->stream() * c.workspace_stride));
  changed |= assign(*value, device_pointer(c.statuses[node.index]));
  return changed;
}

bool SegmentGraph::refresh_copy(Node& node, const Transfer& transfer) const {
  CUDA_MEMCPY3D& copy = node.params.memcpy.copyParams;
  const bool from_host = transfer.kind == Transfer::Kind::to_device, to_host = transfer.kind == Transfer::Kind::to_host;
  bool changed = assign(copy.WidthInBytes, transfer.bytes);
  copy.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  changed |= from_host ? assign(copy.srcHost, transfer.from) : assign(copy.srcDevice, device_pointer(transfer.from));
  changed |= to_host ? assign(copy.dstHost, transfer.to) : assign(copy.dstDevice, device_pointer(transfer.to));
  return changed;
}

bool SegmentGraph::refresh_fill(Node& node, const BoundStep& bound, uint8_t value) const {
  CUDA_MEMSET_NODE_PARAMS& fill = node.params.memset;
  bool changed = assign(fill.dst, device_pointer(bound.operands[0]));
  changed |= assign(fill.width, bound.bytes);
  changed |= assign(fill.value, value);
  return changed;
}

std::string steps_text(const Plan& plan, uint32_t begin, uint32_t end) {
  if (begin >= end) return "a copy of the model's inputs or outputs";
  const auto name = [&](uint32_t step) { return view_of(plan.steps[step].manifest->source()); };
  if (begin + 1 == end) return text("step '", name(begin), "'");
  return text("one of the ", end - begin, " steps '", name(begin), "' to '", name(end - 1), "'");
}

}  // namespace gart::cuda
