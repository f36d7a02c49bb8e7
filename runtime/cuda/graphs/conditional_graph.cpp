#include "runtime/cuda/graphs/conditional_graph.h"

#include <algorithm>

#include "artifact_schema/kernel_abi.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cuda {
namespace {

bool has(const Plan& plan, fb::StepKind kind) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) { return step.kind == kind; });
}

/// True if this step ends the run. Requires that the slots it depends on are known.
bool fails(const PlanStep& step, const BoundStep& bound) {
  return step.kind == fb::StepKind::fail && (step.params == 0 || bound.params[0] != bound.params[1]);
}

uint64_t value_of(const void* address) { return reinterpret_cast<uint64_t>(address); }

}  // namespace

bool ConditionalGraph::can_hold(const Plan& plan) {
  const bool loops = has(plan, fb::StepKind::loop);
  return (loops || has(plan, fb::StepKind::branch)) && !has(plan, fb::StepKind::bind) &&
         !(loops && has(plan, fb::StepKind::fail));
}

ConditionalGraph::ConditionalGraph(Device& device, const Plan& plan, CUfunction conditional_kernel)
    : device_(device),
      plan_(plan),
      conditional_kernel_(conditional_kernel),
      counters_(&device.memory),
      nodes_(device, plan),
      graph_(device) {
  counters_.reserve(plan.steps.size() * sizeof(int64_t));
}

void ConditionalGraph::update(const GraphContext& c) {
  if (!fits(c)) return build(c);
  built_ = false;
  for (Node& node : nodes_.list) {
    if (node.kind == NodeKind::step || !nodes_.refresh(node, c) || nodes_.set_params(graph_.exec, node)) continue;
    nodes_.wait(c.stream);  // orders this run after earlier launches
    return build(c);
  }
  built_ = true;
}

bool ConditionalGraph::stays(const GraphContext& c) const {
  bool same = places_.size() == plan_.io_buffers.size();
  for (size_t i = 0; same && i < places_.size(); ++i) same = places_[i] == c.bound.address(plan_.io_buffers[i]);
  return same;
}

void ConditionalGraph::launch(CUstream stream) const {
  graph_.launch(stream, plan_, 0, static_cast<uint32_t>(plan_.steps.size()));
}

void ConditionalGraph::build(const GraphContext& c) {
  built_ = false;
  nodes_.clear();
  const CUgraph graph = graph_.begin();
  copies_.note(c, true, true);
  places_.clear();
  for (const uint32_t index : plan_.io_buffers) places_.push_back(c.bound.address(index));
  const Nodes inputs = nodes_.add_inputs(graph, c);
  // Later nodes come after all inputs. This includes nodes inside conditionals, which cannot name inputs as
  // dependencies.
  nodes_.forget_inputs();
  const Nodes end = add_sequence(graph, plan_.entry_sequence(), inputs, c);
  std::vector<Nodes> written(c.outputs.count(), end);
  nodes_.add_outputs(graph, written, c);
  graph_.exec = nodes_.instantiate(graph, c.stream, steps_text(plan_, 0, static_cast<uint32_t>(plan_.steps.size())));
  generation_ = c.generation;
  built_ = true;
}

/// A step that decides comes after all earlier steps and before all later steps.
Nodes ConditionalGraph::add_sequence(CUgraph graph, uint32_t index, Nodes before, const GraphContext& c) {
  for (const Segment& segment : plan_.sequence(index)) {
    const uint32_t i = segment.begin;
    const PlanStep* step = segment.decides ? &plan_.steps[i] : nullptr;
    if (step == nullptr) {
      before = nodes_.add_steps(graph, segment, before, c);
    } else if (step->kind == fb::StepKind::branch) {
      before = add_branch(graph, i, before, c);
    } else if (step->kind == fb::StepKind::loop) {
      before = add_loop(graph, i, before, c);
    } else if (fails(*step, c.bound.step(i))) {
      return add_report(graph, i, before, c);  // the run ends here, so no later step is added
    }
  }
  return before;
}

/// Sets the step's word in the device's memory, and returns its address.
void* ConditionalGraph::add_mark(CUgraph graph, uint32_t index, Nodes& before, const std::string& what) {
  void* word = counters_.data() + index * sizeof(int64_t);
  CUgraphNodeParams fill = {};
  fill.type = CU_GRAPH_NODE_TYPE_MEMSET;
  fill.memset.dst = reinterpret_cast<CUdeviceptr>(word);
  fill.memset.value = 1;
  fill.memset.elementSize = sizeof(uint32_t);
  fill.memset.width = 1;
  fill.memset.height = 1;
  fill.memset.ctx = device_.context;
  before.assign(1, nodes_.add(graph, fill, before, what));
  return word;
}

/// Reports through the device's memory: fills a word there, and copies it to the host.
Nodes ConditionalGraph::add_report(CUgraph graph, uint32_t index, Nodes before, const GraphContext& c) {
  const std::string what = steps_text(plan_, index, index + 1);
  const void* word = add_mark(graph, index, before, what);
  return {nodes_.add_copy(graph, {Transfer::Kind::to_host, c.statuses[index], word, sizeof(uint32_t)}, before, what)};
}

void* ConditionalGraph::scalar(int32_t buffer, int64_t bytes, const GraphContext& c) const {
  if (buffer < 0) return nullptr;
  const uint32_t index = static_cast<uint32_t>(buffer);
  if (c.bound.bytes(index) >= bytes) return c.bound.address(index);
  fail(ErrorCode::invalid_artifact, "buffer ", buffer, " has ", c.bound.bytes(index),
       " bytes, but a step uses it for a value of ", bytes);
}

CUgraphConditionalHandle ConditionalGraph::make_handle(CUgraph graph) {
  CUgraphConditionalHandle handle = 0;
  GART_CUDA(device_, cuGraphConditionalHandleCreate, &handle, graph, device_.context, 0u, CU_GRAPH_COND_ASSIGN_DEFAULT);
  return handle;
}

CUgraphNode ConditionalGraph::add_decision(CUgraph graph, const Decision& d, Nodes& before, const std::string& what) {
  uint64_t values[] = {
      value_of(d.condition), value_of(d.trips), value_of(d.iteration), value_of(d.counter), d.yes, d.no, d.flags};
  void* pointers[std::size(values)];
  for (size_t i = 0; i < std::size(values); ++i) pointers[i] = &values[i];
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  CUDA_KERNEL_NODE_PARAMS& kernel = params.kernel;
  kernel.func = conditional_kernel_;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = pointers;
  return nodes_.add(graph, params, before, what);
}

ConditionalGraph::Conditional ConditionalGraph::add_conditional(CUgraph graph, CUgraphConditionalNodeType kind,
                                                                CUgraphConditionalHandle handle, Nodes before,
                                                                const std::string& what) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = kind;
  params.conditional.size = 1;
  params.conditional.ctx = device_.context;
  const CUgraphNode node = nodes_.add(graph, params, before, what);
  return {node, params.conditional.phGraph_out[0]};
}

/// Uses two conditional nodes, because a node with an ELSE needs a newer driver. No body stays empty: drivers before
/// 12.8 hang at a conditional node with an empty body (seen in XLA, openxla/xla pull request 25769).
Nodes ConditionalGraph::add_branch(CUgraph graph, uint32_t index, Nodes before, const GraphContext& c) {
  const PlanStep& step = plan_.steps[index];
  const std::string what = steps_text(plan_, index, index + 1);
  Decision decision;
  decision.condition = scalar(int32_t(plan_.operands[step.first_operand]), sizeof(uint8_t), c);
  decision.yes = make_handle(graph);
  decision.no = make_handle(graph);
  decision.flags = GART_CONDITIONAL_FIRST | GART_CONDITIONAL_HAS_NO;
  const Nodes decided = {add_decision(graph, decision, before, what)};
  Nodes ends;
  for (const CUgraphConditionalHandle handle : {decision.yes, decision.no}) {
    const Conditional branch = add_conditional(graph, CU_GRAPH_COND_TYPE_IF, handle, decided, what);
    Nodes end = add_sequence(branch.body, step.manifest->bodies()->Get(static_cast<uint32_t>(ends.size())), {}, c);
    if (end.empty()) add_mark(branch.body, index, end, what);
    ends.push_back(branch.node);
  }
  return ends;
}

Nodes ConditionalGraph::add_loop(CUgraph graph, uint32_t index, Nodes before, const GraphContext& c) {
  const PlanStep& step = plan_.steps[index];
  const fb::Loop& loop = *step.manifest->loop();
  const std::string what = steps_text(plan_, index, index + 1);
  Decision decision;
  decision.condition = scalar(loop.condition(), sizeof(uint8_t), c);
  decision.trips = scalar(loop.trip_count(), sizeof(int64_t), c);
  decision.iteration = scalar(loop.iteration(), sizeof(int64_t), c);
  decision.counter = counters_.data() + index * sizeof(int64_t);
  decision.yes = make_handle(graph);
  decision.flags = GART_CONDITIONAL_FIRST;
  const Nodes decided = {add_decision(graph, decision, before, what)};
  const Conditional while_node = add_conditional(graph, CU_GRAPH_COND_TYPE_WHILE, decision.yes, decided, what);
  Nodes end = add_sequence(while_node.body, step.manifest->bodies()->Get(0), {}, c);
  end = add_carries(while_node.body, loop, end, what, c);
  decision.flags = 0;
  add_decision(while_node.body, decision, end, what);
  return {while_node.node};
}

Nodes ConditionalGraph::add_carries(CUgraph graph, const fb::Loop& loop, Nodes before, const std::string& what,
                                    const GraphContext& c) {
  const auto from = span_of(loop.carried_from()), to = span_of(loop.carried_to());
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t bytes = c.bound.bytes(from[i]);
    if (bytes != c.bound.bytes(to[i])) {
      fail(ErrorCode::run_failed, "a loop carries ", bytes, " bytes into a buffer of ", c.bound.bytes(to[i]));
    }
    void *source = c.bound.address(from[i]), *destination = c.bound.address(to[i]);
    if (bytes == 0 || source == destination) continue;
    before.assign(1, nodes_.add_copy(graph, {Transfer::Kind::on_device, destination, source, bytes}, before, what));
  }
  return before;
}

}  // namespace gart::cuda
