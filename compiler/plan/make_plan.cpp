#include "compiler/plan/make_plan.h"

#include <algorithm>
#include <queue>

#include "compiler/ops/data_extent.h"
#include "compiler/ops/op_def.h"
#include "compiler/plan/bind_extents.h"
#include "compiler/plan/drop_unused.h"
#include "compiler/plan/extent_symbols.h"
#include "compiler/plan/find_unsupported.h"
#include "compiler/plan/plan_maker.h"
#include "compiler/plan/rounded_constant.h"
#include "compiler/plan/waits.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Joins the distinct names. If an operator was expanded into several nodes, they have the name of one model node.
std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<int64_t>(i), names[i]) ==
        names.begin() + static_cast<int64_t>(i))
      out += (out.empty() ? "" : ", ") + names[i];
  return out;
}

UnsupportedNode unsupported(const Graph& graph, NodeId id, std::string why) {
  if (!id.valid()) return {graph.name, "graph", "", 0, std::move(why)};
  const Node& n = graph.node(id);
  return {n.name, n.op->name, n.op->domain, 0, std::move(why)};
}

Dim bytes_of(const Value& v) { return product(*v.shape) * Dim(size_of(v.memory_dtype())); }

/// The constant's elements in the type in which they are stored.
TensorRef stored_constant(const Value& v) {
  return v.stored == DType::undefined ? v.constant : rounded_constant(v.constant, v.stored);
}

/// Positions of the operands that a step writes.
std::vector<int> results_of(const Kernel& k) {
  std::vector<int> results;
  for (size_t i = 0; i < k.operands.size(); ++i)
    if (k.operands[i].written && !k.operands[i].array) results.push_back(static_cast<int>(i));
  GCG_CHECK(!results.empty(), "kernel '", k.name, "' writes nothing");
  return results;
}

/// True if there is any element to compute.
bool has_elements(const Kernel& k) {
  const std::vector<int> results = results_of(k);
  return std::any_of(results.begin(), results.end(),
                     [&](int r) { return !product(k.operands[static_cast<size_t>(r)].shape).is(0); });
}

bool is_bind(const Node& n) { return n.op == &op("Bind", "gart"); }
/// True if the result of the node shares the memory of its first input, and its step writes only a part of it.
bool writes_in_place(const Node& n) { return n.op == &op("Append", "gart"); }

Step fail_step(const Node& n) {
  return {Fail{n.string_attribute("message", "the model takes a path that cannot be computed")}, n.name};
}

}  // namespace

Plan PlanMaker::run(const Graph& graph) {
  outermost_ = &graph;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape) symbols_.merge(d.symbols());
  out_.run_bound_symbols = run_bound_symbols(graph);
  run_bound_.insert(out_.run_bound_symbols.begin(), out_.run_bound_symbols.end());
  BufferMap inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    inputs[graph.inputs[i]] = add_buffer(Buffer::Kind::input, graph.value(graph.inputs[i]), static_cast<int>(i));
  std::vector<BufferId> outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    outputs.push_back(add_buffer(Buffer::Kind::output, graph.value(graph.outputs[i]), static_cast<int>(i)));
  const SequenceId entry = sequence(graph, inputs, outputs, {});
  GCG_CHECK(&out_.sequences[entry] == &out_.entry(), "the entry sequence is the last one");
  if (!problems_.empty()) throw UnsupportedModel(std::move(problems_));
  return std::move(out_);
}

BufferId PlanMaker::add_buffer(Buffer::Kind kind, const Value& v, int index) {
  Buffer b;
  b.kind = kind;
  b.index = index;
  b.bytes = bytes_of(v);
  b.name = v.name;
  return out_.buffers.push_back(std::move(b));
}

BufferId PlanMaker::constant(const Value& v) {
  auto [it, fresh] = constants_.try_emplace({v.constant.get(), v.stored});
  if (fresh) {
    it->second = add_buffer(Buffer::Kind::constant, v);
    out_.buffers.back().constant = stored_constant(v);
  }
  return it->second;
}

SequenceId PlanMaker::sequence(const Graph& graph, const BufferMap& inputs, const std::vector<BufferId>& outputs,
                               const std::map<size_t, RowStore>& rows) {
  Scope scope{graph, fuse(graph, device_), inputs};
  std::set<int> copied;
  for (const FusionGroup& group : scope.fusion.groups) copied.insert(group.output_copy);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId base = scope.fusion.view_of[graph.outputs[i]];
    if (copied.count(static_cast<int>(i)) != 0) continue;
    if (scope.fusion.materialized[base]) scope.buffers.try_emplace(base, outputs[i]);
  }
  Sequence steps;
  // Constraints on inputs alone are checked before the run, so only the others stay here.
  std::vector<DimConstraint> facts;
  for (const DimConstraint& fact : graph.constraints)
    if (&graph != outermost_ || !known(fact.a) || !known(fact.b)) facts.push_back(fact);
  std::swap(run_bound_facts_, facts);
  check_facts(steps);
  for (const ReadyGroup& w : ordered(scope, outputs)) {
    emit(scope, w, steps);
    if (!w.gives.empty()) check_facts(steps);
  }
  run_bound_facts_ = std::move(facts);
  for (const auto& [i, row] : rows) store_row(scope, graph.outputs[i], outputs[i], row, steps);
  link_waits(out_, steps);
  return out_.sequences.push_back(std::move(steps));
}

BufferId PlanMaker::buffer(Scope& scope, ValueId v) {
  const Value& value = scope.graph.value(v);
  if (value.is_constant()) return constant(value);
  const ValueId base = scope.fusion.view_of[v];
  const Value& b = scope.graph.value(base);
  if (b.is_constant()) return constant(b);
  auto it = scope.buffers.find(base);
  if (it == scope.buffers.end()) it = scope.buffers.emplace(base, add_buffer(Buffer::Kind::temporary, b)).first;
  return it->second;
}

std::vector<PlanMaker::ReadyGroup> PlanMaker::ordered(Scope& scope, const std::vector<BufferId>& outputs) {
  std::vector<int64_t> position(static_cast<size_t>(scope.graph.node_count()), 0);
  int64_t next = 0;
  for (NodeId n : scope.graph.order()) position[static_cast<size_t>(n.index)] = next++;
  std::vector<ReadyGroup> groups;
  for (const FusionGroup& group : scope.fusion.groups) {
    ReadyGroup w;
    w.group = &group;
    const NodeId node =
        group.kind == FusionGroup::Kind::control ? group.anchor : scope.graph.value(group.result).producer;
    try {
      describe(scope, group, outputs, w);
    } catch (const InternalError&) {
      throw;
    } catch (const NodeError& e) {
      problems_.push_back(e.node());
      continue;
    } catch (const CompileError& e) {
      problems_.push_back(unsupported(scope.graph, node, e.what()));
      continue;
    }
    for (const std::set<BufferId>* touched : {&w.reads, &w.writes})
      for (BufferId b : *touched) w.needs.merge(out_.buffers[b].bytes.symbols());
    std::erase_if(w.needs, [&](const std::string& s) { return run_bound_.count(s) == 0; });
    w.position = group.output_copy >= 0 ? next : node.valid() ? position[static_cast<size_t>(node.index)] : -1;
    groups.push_back(std::move(w));
  }
  return topological(std::move(groups));
}

void PlanMaker::describe(Scope& scope, const FusionGroup& group, const std::vector<BufferId>& outputs, ReadyGroup& w) {
  if (group.kind == FusionGroup::Kind::control) {
    const Node& n = scope.graph.node(group.anchor);
    for (ValueId in : n.inputs)
      if (in.valid() && !(writes_in_place(n) && in == n.inputs[0])) w.reads.insert(buffer(scope, in));
    for (ValueId out : n.outputs)
      if (out.valid()) w.writes.insert(buffer(scope, out));
    w.needs = symbols_of(scope.graph, n);
    std::vector<std::string> symbols = is_bind(n) ? bound_symbols(n) : std::vector<std::string>();
    for (const auto& body : n.bodies) std::ranges::copy(run_bound_symbols(*body), std::back_inserter(symbols));
    w.gives = {symbols.begin(), symbols.end()};
    return;
  }
  w.lowered = lower_group(scope.graph, scope.fusion, group);
  w.needs = symbols_of(w.lowered.kernel);
  for (size_t i = 0; i < w.lowered.storages.size(); ++i) {
    const bool written = w.lowered.kernel.operands[i].written;
    const BufferId b = written && group.output_copy >= 0 ? outputs[static_cast<size_t>(group.output_copy)]
                                                         : buffer(scope, w.lowered.storages[i]);
    w.operands.push_back(b);
    (written ? w.writes : w.reads).insert(b);
  }
}

std::vector<PlanMaker::ReadyGroup> PlanMaker::topological(std::vector<ReadyGroup> groups) {
  std::map<BufferId, std::vector<size_t>> writers;
  for (size_t i = 0; i < groups.size(); ++i)
    for (BufferId b : groups[i].writes) writers[b].push_back(i);
  std::map<std::string, size_t> givers;
  for (size_t i = 0; i < groups.size(); ++i)
    for (const std::string& s : groups[i].gives) givers[s] = i;
  std::vector<std::vector<size_t>> successors(groups.size());
  std::vector<int> missing(groups.size(), 0);
  const auto follows = [&](size_t i, size_t earlier) {
    if (earlier == i) return;
    successors[earlier].push_back(i);
    ++missing[i];
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    for (BufferId b : groups[i].reads)
      for (size_t w : writers[b]) follows(i, w);
    for (const std::string& s : groups[i].needs)
      if (const auto giver = givers.find(s); giver != givers.end()) follows(i, giver->second);
  }
  auto later = [&](size_t a, size_t b) { return std::pair(groups[a].position, a) > std::pair(groups[b].position, b); };
  using Queue = std::priority_queue<size_t, std::vector<size_t>, decltype(later)>;
  Queue ready(later);
  for (size_t i = 0; i < groups.size(); ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<ReadyGroup> out;
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    for (size_t s : successors[i])
      if (--missing[s] == 0) ready.push(s);
    out.push_back(std::move(groups[i]));
  }
  GCG_CHECK(out.size() == groups.size(), "the groups of a graph form a cycle");
  return out;
}

void PlanMaker::emit(Scope& scope, const ReadyGroup& w, Sequence& steps) {
  if (w.group->kind != FusionGroup::Kind::control) {
    const bool empty = w.group->kind == FusionGroup::Kind::program
                           ? !has_elements(w.lowered.kernel)
                           : product(*scope.graph.value(w.group->result).shape).is(0);
    if (empty) return;  // there is no element to compute
    steps.steps.push_back(launch(w.lowered, w.operands));
    return;
  }
  const Node& n = scope.graph.node(w.group->anchor);
  const std::string_view op = n.op->name;
  if (op == "If")
    branch(scope, n, steps);
  else if (op == "Loop")
    loop(scope, n, steps);
  else if (op == "Fail")
    fail_steps(scope, n, steps);
  else if (op == "Bind")
    bind_steps(scope, n, steps);
  else if (writes_in_place(n))
    write_in_place(scope, n, steps);
  else
    GCG_CHECK(false, "control node '", n.name, "' is a ", op);
}

void PlanMaker::fail_steps(Scope& scope, const Node& n, Sequence& steps) {
  // A GPU runs the steps after the failure, too, and these read the node's results.
  if (n.has_attribute("passes"))
    for (size_t i = 0; i < n.outputs.size(); ++i)
      steps.steps.push_back({Copy{buffer(scope, n.outputs[i]), buffer(scope, n.inputs[i])}, n.name});
  steps.steps.push_back(fail_step(n));
}

void PlanMaker::write_in_place(Scope& scope, const Node& n, Sequence& steps) {
  const LoweredGroup lowered =
      n.has_attribute("replaces") ? lower_update(scope.graph, n) : lower_append(scope.graph, n);
  std::vector<BufferId> operands;
  for (const ValueId v : lowered.storages) operands.push_back(buffer(scope, v));
  steps.steps.push_back(launch(lowered, std::move(operands)));
  steps.steps.back().source = n.name;
}

Step PlanMaker::launch(const LoweredGroup& lowered, std::vector<BufferId> operands) {
  auto [it, fresh] = kernels_.try_emplace(key(lowered.kernel));
  if (fresh) it->second = out_.kernels.push_back(lowered.kernel);
  return {Launch{it->second, std::move(operands), results_of(lowered.kernel), lowered.in_place},
          join(lowered.kernel.sources)};
}

Plan make_plan(const Graph& model, DeviceClass device) {
  const Graph graph = bind_extents(model);
  std::vector<UnsupportedNode> unsupported = find_unsupported(graph);
  if (!unsupported.empty()) throw UnsupportedModel(std::move(unsupported));
  Plan plan = PlanMaker(device).run(graph);
  plan.device = device;
  drop_unused(plan);
  return plan;
}

}  // namespace gcg
