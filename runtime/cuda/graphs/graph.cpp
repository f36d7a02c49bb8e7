#include "runtime/cuda/graphs/graph.h"

#include "runtime/step_errors.h"

namespace gart::cuda {

void ExecutableGraph::clear() {
  if (graph_ == nullptr) return;
  const CurrentContext current(device_, std::nothrow);
  if (exec != nullptr) device_.driver.cuGraphExecDestroy(exec);
  device_.driver.cuGraphDestroy(graph_);
  exec = nullptr;
  graph_ = nullptr;
}

CUgraph ExecutableGraph::begin() {
  clear();
  GART_CUDA(device_, cuGraphCreate, &graph_, 0u);
  return graph_;
}

void ExecutableGraph::launch(CUstream stream, const Plan& plan, uint32_t begin, uint32_t end) const {
  if (exec == nullptr) return;
  const CUresult result = device_.driver.cuGraphLaunch(exec, stream);
  if (result != CUDA_SUCCESS) device_.check(result, "cuGraphLaunch", steps_text(plan, begin, end));
}

void CopyKinds::note(const GraphContext& c, bool inputs, bool outputs) {
  kinds_.clear();
  for (size_t i = 0; inputs && i < c.inputs.count(); ++i) kinds_.push_back(c.inputs.transfer(i).kind);
  for (size_t i = 0; outputs && i < c.outputs.count(); ++i) kinds_.push_back(c.outputs.transfer(i).kind);
}

bool CopyKinds::same(const GraphContext& c, bool inputs, bool outputs) const {
  auto kind = kinds_.begin();
  for (size_t i = 0; inputs && i < c.inputs.count(); ++i) {
    if (*kind++ != c.inputs.transfer(i).kind) return false;
  }
  for (size_t i = 0; outputs && i < c.outputs.count(); ++i) {
    if (*kind++ != c.outputs.transfer(i).kind) return false;
  }
  return true;
}

SegmentGraph::SegmentGraph(Device& device, const Plan& plan, const Segment& segment)
    : plan_(plan), segment_(segment), nodes_(device, plan), graph_(device) {
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const PlanStep& step = plan.steps[i];
    run_bound_ = run_bound_ || step.run_bound;
    uint8_t moving = 0;
    for (uint32_t o = 0; o < step.operands; ++o) {
      const fb::BufferKind kind = plan.buffer(plan.operands[step.first_operand + o]).kind();
      if (kind == fb::BufferKind::input || kind == fb::BufferKind::output) moving = 1;
    }
    moving_.push_back(moving);
  }
}

/// True if the nodes match exactly the steps that have work. same_copies checks the copies.
bool SegmentGraph::same_work(const GraphContext& c) const {
  size_t at = 0;
  const auto& nodes = nodes_.list;
  while (at < nodes.size() && nodes[at].kind == NodeKind::input) ++at;
  for (uint32_t i = segment_.begin; i < segment_.end; ++i) {
    const bool present = at < nodes.size() && nodes[at].kind == NodeKind::step && nodes[at].index == i;
    if (present != has_work(plan_.steps[i], c.bound.step(i))) return false;
    at += present;
  }
  return true;
}

bool SegmentGraph::fits(const GraphContext& c) {
  return built_ && copies_.same(c, segment_.inputs, segment_.outputs) &&
         ((!run_bound_ && generation_ == c.generation) || same_work(c));
}

bool SegmentGraph::must_go(const GraphContext& c) { return graph_.exec != nullptr && !fits(c); }

void SegmentGraph::update(const GraphContext& c) {
  if (!fits(c)) return build(c);
  const bool all = run_bound_ || generation_ != c.generation;
  built_ = false;
  for (Node& node : nodes_.list) {
    if (!all && node.kind == NodeKind::step && moving_[node.index - segment_.begin] == 0) continue;
    if (!nodes_.refresh(node, c) || nodes_.set_params(graph_.exec, node)) continue;
    nodes_.wait(c.stream);  // orders this run after earlier launches
    return build(c);
  }
  generation_ = c.generation;
  built_ = true;
}

void SegmentGraph::build(const GraphContext& c) {
  built_ = false;
  nodes_.clear();
  const CUgraph graph = graph_.begin();
  copies_.note(c, segment_.inputs, segment_.outputs);
  if (segment_.inputs) nodes_.add_inputs(graph, c);
  std::vector<Nodes> written(c.outputs.count());
  nodes_.add_steps(graph, segment_, {}, c, &written);
  if (segment_.outputs) nodes_.add_outputs(graph, written, c);
  if (nodes_.list.empty()) {
    graph_.clear();
  } else {
    graph_.exec = nodes_.instantiate(graph, c.stream, steps_text(plan_, segment_.begin, segment_.end));
  }
  generation_ = c.generation;
  built_ = true;
}

}  // namespace gart::cuda
