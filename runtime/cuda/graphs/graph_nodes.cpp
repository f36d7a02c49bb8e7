#include "runtime/cuda/graphs/graph_nodes.h"

#include <algorithm>

#include "runtime/cuda/libraries/call_node.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cuda {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

CUdeviceptr device_pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

template <class T, class U>
bool assign(T& place, U value) {
  const bool changed = place != static_cast<T>(value);
  place = static_cast<T>(value);
  return changed;
}

Transfer copy_of(const PlanStep& step, const BoundStep& bound) {
  const auto *to = static_cast<const uint8_t*>(bound.operands[0]),
             *from = static_cast<const uint8_t*>(bound.operands[1]);
  if (to < from + bound.bytes && from < to + bound.bytes) {
    fail(ErrorCode::unsupported, "step '", view_of(step.manifest->source()), "' copies ", bound.bytes,
         " bytes onto themselves");
  }
  return {Transfer::Kind::on_device, bound.operands[0], from, bound.bytes};
}

bool refresh_copy(CUgraphNodeParams& params, const Transfer& transfer) {
  CUDA_MEMCPY3D& copy = params.memcpy.copyParams;
  const bool from_host = transfer.kind == Transfer::Kind::to_device, to_host = transfer.kind == Transfer::Kind::to_host;
  bool changed = assign(copy.WidthInBytes, transfer.bytes);
  copy.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  changed |= from_host ? assign(copy.srcHost, transfer.from) : assign(copy.srcDevice, device_pointer(transfer.from));
  changed |= to_host ? assign(copy.dstHost, transfer.to) : assign(copy.dstDevice, device_pointer(transfer.to));
  return changed;
}

bool refresh_fill(CUgraphNodeParams& params, const BoundStep& bound, uint8_t value) {
  bool changed = assign(params.memset.dst, device_pointer(bound.operands[0]));
  changed |= assign(params.memset.width, bound.bytes);
  changed |= assign(params.memset.value, value);
  return changed;
}

void prepare_copy(CUgraphNodeParams& params, CUcontext context) {
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy.copyCtx = context;
  params.memcpy.copyParams.Height = params.memcpy.copyParams.Depth = 1;
}

void append(Nodes& to, const Nodes& from) { to.insert(to.end(), from.begin(), from.end()); }

void remove_doubles(Nodes& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

bool has_work(const PlanStep& step, const BoundStep& bound) {
  if (bound.off) return false;
  if (step.kind == fb::StepKind::launch || step.kind == fb::StepKind::call) return bound.tasks > 0;
  return bound.bytes > 0 && (step.kind == fb::StepKind::fill || bound.operands[0] != bound.operands[1]);
}

std::string GraphNodes::node_text(const Node& node) const {
  if (node.kind == NodeKind::step) return steps_text(plan_, node.index, node.index + 1);
  return text("the copy of ", node.kind == NodeKind::input ? "input " : "output ", node.index);
}

Nodes GraphNodes::add_inputs(CUgraph graph, const GraphContext& c) {
  Nodes none, added;
  input_copies_.assign(c.inputs.count(), nullptr);
  for (uint32_t i = 0; i < c.inputs.count(); ++i) {
    if (c.inputs.transfer(i).kind == Transfer::Kind::none) continue;
    added.push_back(input_copies_[i] = add(graph, NodeKind::input, i, none, c));
  }
  return added;
}

void GraphNodes::add_outputs(CUgraph graph, std::vector<Nodes>& written, const GraphContext& c) {
  for (uint32_t i = 0; i < c.outputs.count(); ++i) {
    if (c.outputs.transfer(i).kind != Transfer::Kind::none) add(graph, NodeKind::output, i, written[i], c);
  }
}

Nodes GraphNodes::add_steps(CUgraph graph, const Segment& run, const Nodes& before, const GraphContext& c,
                            std::vector<Nodes>* written) {
  std::vector<Nodes> done(run.end - run.begin);  // per step: the nodes that must end before the step is done
  std::vector<uint32_t> last(plan_.manifest->streams(), kNone);
  for (uint32_t i = run.begin; i < run.end; ++i) {
    const PlanStep& step = plan_.steps[i];
    Nodes& ends = done[i - run.begin];
    const uint32_t previous = std::exchange(last[step.manifest->stream()], i);
    collect_dependencies(i, run, previous, done, ends);
    if (ends.empty()) ends = before;
    if (has_work(step, c.bound.step(i))) {
      const bool overlaps = may_overlap(i, previous, run, c);
      if (overlaps) ends = done[previous - run.begin];
      ends.assign(1, add(graph, NodeKind::step, i, ends, c, overlaps));
    }
    if (written != nullptr) note_writes(step, ends, *written);
  }
  Nodes end;
  for (const uint32_t i : last) {
    if (i != kNone) append(end, done[i - run.begin]);
  }
  remove_doubles(end);
  return end.empty() ? before : end;
}

/// True if the step may start while the previous launch runs: once that launch has ended, all other dependencies have
/// ended, too. Copies of inputs need edges of their own.
bool GraphNodes::may_overlap(uint32_t index, uint32_t previous, const Segment& run, const GraphContext& c) const {
  constexpr int kOldestMajor = 9;
  const PlanStep& step = plan_.steps[index];
  if (!step.manifest->overlaps() || run.begin < plan_.sequence_begin[plan_.entry_sequence()] || previous == kNone)
    return false;
  const PlanStep& last = plan_.steps[previous];
  if (last.kind != fb::StepKind::launch || !has_work(last, c.bound.step(previous))) return false;
  for (uint32_t o = 0; o < step.operands && !input_copies_.empty(); ++o) {
    const fb::Buffer& buffer = plan_.buffer(plan_.operands[step.first_operand + o]);
    if (buffer.kind() == fb::BufferKind::input && input_copies_[buffer.index()] != nullptr) return false;
  }
  return device_.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= kOldestMajor;
}

void GraphNodes::note_writes(const PlanStep& step, const Nodes& nodes, std::vector<Nodes>& written) const {
  for (uint32_t o = 0; o < step.operands; ++o) {
    const fb::Buffer& buffer = plan_.buffer(plan_.operands[step.first_operand + o]);
    if (buffer.kind() == fb::BufferKind::output && writes_operand(step, o)) append(written[buffer.index()], nodes);
  }
}

/// A step outside of the run has no nodes here. It is ordered by the nodes after which the run starts.
void GraphNodes::collect_dependencies(uint32_t index, const Segment& run, uint32_t previous,
                                      const std::vector<Nodes>& done, Nodes& out) const {
  const PlanStep& step = plan_.steps[index];
  const auto after = [&](uint32_t other) {
    if (other >= run.begin && other < run.end) append(out, done[other - run.begin]);
  };
  after(previous);
  for (const uint32_t wait : span_of(step.manifest->waits())) after(run.sequence + wait);
  for (uint32_t o = 0; o < step.operands && !input_copies_.empty(); ++o) {
    const fb::Buffer& buffer = plan_.buffer(plan_.operands[step.first_operand + o]);
    if (buffer.kind() != fb::BufferKind::input || input_copies_[buffer.index()] == nullptr) continue;
    out.push_back(input_copies_[buffer.index()]);
  }
  remove_doubles(out);
}

CUgraphNode GraphNodes::add(CUgraph graph, NodeKind kind, uint32_t index, Nodes& dependencies, const GraphContext& c,
                            bool overlaps) {
  list.push_back(prepare(kind, index, c));
  Node& node = list.back();
  if (node.call == nullptr) return node.handle = add(graph, node.params, dependencies, node_text(node), overlaps);
  const ChildGraph child = node.call->record(device_);
  node.params.graph.graph = child.handle;
  return node.handle = add(graph, node.params, dependencies, node_text(node));
}

CUgraphNode GraphNodes::add(CUgraph graph, CUgraphNodeParams& params, Nodes& dependencies, const std::string& what,
                            bool overlaps) {
  constexpr CUgraphEdgeData kOverlap = {
      CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
  remove_doubles(dependencies);
  CUgraphNode node = nullptr;
  const auto add_after = [&](const CUgraphEdgeData* edges) {
    return device_.driver.cuGraphAddNode_v2(&node, graph, dependencies.data(), edges, dependencies.size(), &params);
  };
  CUresult result = add_after(overlaps ? &kOverlap : nullptr);
  if (overlaps && result != CUDA_SUCCESS && !is_sticky(result))
    result = add_after(nullptr);  // an edge of the full kind is correct, too
  device_.check(result, "cuGraphAddNode_v2", what);
  return node;
}

CUgraphNode GraphNodes::add_copy(CUgraph graph, const Transfer& transfer, Nodes& dependencies,
                                 const std::string& what) {
  CUgraphNodeParams params = {};
  prepare_copy(params, device_.context);
  refresh_copy(params, transfer);
  return add(graph, params, dependencies, what);
}

CUgraphExec GraphNodes::instantiate(CUgraph graph, CUstream stream, const std::string& what) const {
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, stream, nullptr,
                                          CUDA_GRAPH_INSTANTIATE_SUCCESS};
  CUgraphExec exec = nullptr;
  const CUresult result = device_.driver.cuGraphInstantiateWithParams(&exec, graph, &params);
  if (result == CUDA_SUCCESS) return exec;
  const auto bad = std::find_if(list.begin(), list.end(), [&](const Node& node) {
    return params.hErrNode_out != nullptr && node.handle == params.hErrNode_out;
  });
  device_.check(result, "cuGraphInstantiateWithParams", bad == list.end() ? what : node_text(*bad));
  return nullptr;
}

bool GraphNodes::set_params(CUgraphExec exec, Node& node) const {
  const ChildGraph child = node.call == nullptr ? ChildGraph(device_, nullptr) : node.call->record(device_);
  if (node.call != nullptr) node.params.graph.graph = child.handle;
  const CUresult result = device_.driver.cuGraphExecNodeSetParams(exec, node.handle, &node.params);
  if (is_sticky(result)) device_.check(result, "cuGraphExecNodeSetParams", node_text(node));
  return result == CUDA_SUCCESS;
}

void GraphNodes::wait(CUstream stream) const { GART_CUDA(device_, cuStreamSynchronize, stream); }

void GraphNodes::prepare_launch(Node& node, const PlanStep& step) const {
  const fb::Kernel& kernel = *plan_.manifest->kernels()->Get(step.manifest->kernel());
  node.values.resize(step.operands + kernel.params() + 2);
  for (uint64_t& value : node.values) node.pointers.push_back(&value);
  node.maps.add_to(node.pointers, step);
  CUDA_KERNEL_NODE_PARAMS& params = node.params.kernel;
  node.params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.func = static_cast<CUfunction>(const_cast<void*>(step.function));
  params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
  params.blockDimX = kernel.threads();
  params.sharedMemBytes = kernel.shared();
  params.kernelParams = node.pointers.data();
}

Node GraphNodes::prepare(NodeKind kind, uint32_t index, const GraphContext& c) const {
  Node node{kind, index};
  const PlanStep* step = kind == NodeKind::step ? &plan_.steps[index] : nullptr;
  if (step != nullptr && step->kind == fb::StepKind::launch) {
    prepare_launch(node, *step);
  } else if (step != nullptr && step->kind == fb::StepKind::call) {
    node.params.type = CU_GRAPH_NODE_TYPE_GRAPH;
    node.call = std::make_shared<CallNode>();
  } else if (step != nullptr && step->kind == fb::StepKind::fill) {
    node.params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    node.params.memset.elementSize = 1;
    node.params.memset.height = 1;
    node.params.memset.ctx = device_.context;
  } else {
    prepare_copy(node.params, device_.context);
  }
  refresh(node, c);
  return node;
}

bool GraphNodes::refresh(Node& node, const GraphContext& c) const {
  if (node.kind == NodeKind::input) return refresh_copy(node.params, c.inputs.transfer(node.index));
  if (node.kind == NodeKind::output) return refresh_copy(node.params, c.outputs.transfer(node.index));
  const PlanStep& step = plan_.steps[node.index];
  if (step.kind == fb::StepKind::launch) return refresh_kernel(node, c);
  if (node.call != nullptr) {
    return node.call->refresh(c.libraries, plan_, c.bound, node.index,
                              c.workspace + step.manifest->stream() * c.workspace_stride);
  }
  const BoundStep& bound = c.bound.step(node.index);
  return step.kind == fb::StepKind::fill ? refresh_fill(node.params, bound, step.value)
                                         : refresh_copy(node.params, copy_of(step, bound));
}

bool GraphNodes::refresh_kernel(Node& node, const GraphContext& c) const {
  const PlanStep& step = plan_.steps[node.index];
  const BoundStep& bound = c.bound.step(node.index);
  if (bound.tasks > INT32_MAX) {
    fail(ErrorCode::run_failed, "step '", view_of(step.manifest->source()), "' would need ", bound.tasks,
         " thread blocks, the limit is ", INT32_MAX);
  }
  const fb::Kernel& kernel = *plan_.manifest->kernels()->Get(step.manifest->kernel());
  if (kernel.cluster() > 1 && bound.tasks % kernel.cluster() != 0) {
    fail(ErrorCode::invalid_artifact, "step '", view_of(step.manifest->source()), "' has ", bound.tasks,
         " thread blocks, not a multiple of the ", kernel.cluster(), " of a cluster");
  }
  bool changed = assign(node.params.kernel.gridDimX, bound.tasks);
  uint64_t* value = node.values.data();
  for (uint32_t i = 0; i < step.operands; ++i) changed |= assign(*value++, device_pointer(bound.operands[i]));
  const uint32_t params = kernel.params();  // the pointers of tensor maps follow
  for (uint32_t i = 0; i < params; ++i) changed |= assign(*value++, bound.params[i]);
  changed |= assign(*value++, device_pointer(c.workspace + step.manifest->stream() * c.workspace_stride));
  changed |= assign(*value, device_pointer(c.statuses[node.index]));
  return node.maps.refresh(device_, plan_, c.bound, node.index) || changed;
}

}  // namespace gart::cuda
