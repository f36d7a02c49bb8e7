#include "compiler/schedule/schedule.h"

#include <algorithm>
#include <map>
#include <queue>

#include "compiler/ops/data_extent.h"
#include "compiler/ops/op_def.h"
#include "compiler/schedule/bind_extents.h"
#include "compiler/schedule/find_unsupported.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/lower_group.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using BufferMap = std::map<ValueId, BufferId>;

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

UnsupportedNode unsupported(const Graph& graph, NodeId id, std::string why) {
  if (!id.valid()) return {graph.name, "graph", "", 0, std::move(why)};
  const Node& n = graph.node(id);
  return {n.name, n.op->name, n.op->domain, 0, std::move(why)};
}

Dim bytes_of(const Value& v) { return product(*v.shape) * Dim(size_of(v.dtype)); }

class Scheduler {
 public:
  explicit Scheduler(DeviceClass device) : device_(device) {}

  Schedule run(const Graph& graph) {
    outermost_ = &graph;
    for (ValueId in : graph.inputs)
      for (const Dim& d : *graph.value(in).shape) symbols_.merge(d.symbols());
    out_.late_symbols = late_symbols(graph);
    late_.insert(out_.late_symbols.begin(), out_.late_symbols.end());
    for (const DimConstraint& fact : graph.constraints)
      if (!known(fact.a) || !known(fact.b)) late_facts_.push_back(fact);
    BufferMap inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      inputs[graph.inputs[i]] = add_buffer(Buffer::Kind::input, graph.value(graph.inputs[i]), static_cast<int>(i));
    std::vector<BufferId> outputs;
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      outputs.push_back(add_buffer(Buffer::Kind::output, graph.value(graph.outputs[i]), static_cast<int>(i)));
    const int entry = sequence(graph, inputs, outputs, {});
    GCG_CHECK(entry + 1 == static_cast<int>(out_.sequences.size()), "the entry sequence is the last one");
    if (!problems_.empty()) throw UnsupportedModel(std::move(problems_));
    return std::move(out_);
  }

 private:
  BufferId add_buffer(Buffer::Kind kind, const Value& v, int index = 0) {
    Buffer b;
    b.kind = kind;
    b.index = index;
    b.bytes = bytes_of(v);
    b.name = v.name;
    out_.buffers.push_back(std::move(b));
    return BufferId(static_cast<int64_t>(out_.buffers.size()) - 1);
  }

  BufferId constant(const Value& v) {
    auto [it, fresh] = constants_.try_emplace(v.constant.get());
    if (fresh) {
      it->second = add_buffer(Buffer::Kind::constant, v);
      out_.buffers.back().constant = v.constant;
    }
    return it->second;
  }

  /// One graph's steps. `inputs`: buffers of its inputs. `outputs`: buffers that its outputs must be written to.
  /// `rows`: per output, for a Loop's scan outputs, where its row goes instead (none: nowhere).
  struct RowStore {
    BufferId target, iteration;
    Shape shape;                 // of the target
    ValueId iteration_value;     // in the body
  };

  int sequence(const Graph& graph, const BufferMap& inputs, const std::vector<BufferId>& outputs,
               const std::map<size_t, RowStore>& rows) {
    Scope scope{graph, fuse(graph, device_), inputs, {}};
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const ValueId base = scope.fusion.view_of[static_cast<size_t>(graph.outputs[i].index)];
      if (scope.fusion.materialized[static_cast<size_t>(base.index)]) scope.buffers.try_emplace(base, outputs[i]);
    }
    Sequence steps;
    if (&graph != outermost_) guard(graph, steps);
    for (const Work& w : ordered(scope, outputs)) emit(scope, w, steps);
    for (const auto& [i, row] : rows) store_row(scope, graph.outputs[i], outputs[i], row, steps);
    link_waits(steps);
    out_.sequences.push_back(std::move(steps));
    return static_cast<int>(out_.sequences.size()) - 1;
  }

  struct Scope {
    const Graph& graph;
    Fusion fusion;
    BufferMap buffers;  // by storage value
    std::map<BufferId, int> unused;
  };

  /// A group ready to be emitted: its kernel with operand buffers, or its control node.
  struct Work {
    const Group* group = nullptr;
    LoweredGroup lowered;
    std::vector<BufferId> operands;
    std::set<BufferId> reads, writes;
    std::set<std::string> needs, gives;  // symbols that are bound during the run
    int64_t position = 0;        // of its node in the graph's order: ties are broken by it
  };

  BufferId buffer(Scope& scope, ValueId v) {
    const Value& value = scope.graph.value(v);
    if (value.is_constant()) return constant(value);
    const ValueId base = scope.fusion.view_of[static_cast<size_t>(v.index)];
    const Value& b = scope.graph.value(base);
    if (b.is_constant()) return constant(b);
    auto it = scope.buffers.find(base);
    if (it == scope.buffers.end()) it = scope.buffers.emplace(base, add_buffer(Buffer::Kind::temporary, b)).first;
    return it->second;
  }

  std::vector<Work> ordered(Scope& scope, const std::vector<BufferId>& outputs) {
    std::vector<int64_t> position(static_cast<size_t>(scope.graph.node_count()), 0);
    int64_t next = 0;
    for (NodeId n : scope.graph.order()) position[static_cast<size_t>(n.index)] = next++;
    std::vector<Work> works;
    for (const Group& group : scope.fusion.groups) {
      Work w;
      w.group = &group;
      const NodeId node = group.kind == Group::Kind::control ? group.anchor : scope.graph.value(group.result).producer;
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
        for (BufferId b : *touched) w.needs.merge(out_.buffers[static_cast<size_t>(b.index)].bytes.symbols());
      std::erase_if(w.needs, [&](const std::string& s) { return late_.count(s) == 0; });
      w.position = group.output_copy >= 0 ? next : node.valid() ? position[static_cast<size_t>(node.index)] : -1;
      works.push_back(std::move(w));
    }
    return topological(std::move(works));
  }

  void describe(Scope& scope, const Group& group, const std::vector<BufferId>& outputs, Work& w) {
    if (group.kind == Group::Kind::control) {
      const Node& n = scope.graph.node(group.anchor);
      for (ValueId in : n.inputs)
        if (in.valid()) w.reads.insert(buffer(scope, in));
      for (ValueId out : n.outputs)
        if (out.valid()) w.writes.insert(buffer(scope, out));
      w.needs = symbols_of(scope.graph, n);
      if (is_bind(n)) {
        const std::vector<std::string> symbols = bound_symbols(n);
        w.gives = {symbols.begin(), symbols.end()};
      }
      return;
    }
    w.lowered = lower_group(scope.graph, scope.fusion, group);
    w.needs = symbols_of(w.lowered.kernel);
    const int result = result_operand(w.lowered.kernel);
    for (size_t i = 0; i < w.lowered.storages.size(); ++i) {
      const bool written = static_cast<int>(i) == result;
      const BufferId b = written && group.output_copy >= 0 ? outputs[static_cast<size_t>(group.output_copy)]
                                                           : buffer(scope, w.lowered.storages[i]);
      w.operands.push_back(b);
      (written ? w.writes : w.reads).insert(b);
    }
  }

  static int result_operand(const Kernel& k) {
    for (size_t i = 0; i < k.operands.size(); ++i)
      if (k.operands[i].written) return static_cast<int>(i);
    GCG_CHECK(false, "kernel '", k.name, "' writes nothing");
  }

  /// Readers after every writer of what they read, and uses of a symbol after it is bound; otherwise in the order of the
  /// graph.
  static std::vector<Work> topological(std::vector<Work> works) {
    std::map<BufferId, std::vector<size_t>> writers;
    for (size_t i = 0; i < works.size(); ++i)
      for (BufferId b : works[i].writes) writers[b].push_back(i);
    std::map<std::string, size_t> givers;
    for (size_t i = 0; i < works.size(); ++i)
      for (const std::string& s : works[i].gives) givers[s] = i;
    std::vector<std::vector<size_t>> successors(works.size());
    std::vector<int> missing(works.size(), 0);
    const auto follows = [&](size_t i, size_t earlier) {
      if (earlier == i) return;
      successors[earlier].push_back(i);
      ++missing[i];
    };
    for (size_t i = 0; i < works.size(); ++i) {
      for (BufferId b : works[i].reads)
        for (size_t w : writers[b]) follows(i, w);
      for (const std::string& s : works[i].needs)
        if (const auto giver = givers.find(s); giver != givers.end()) follows(i, giver->second);
    }
    auto later = [&](size_t a, size_t b) { return std::pair(works[a].position, a) > std::pair(works[b].position, b); };
    std::priority_queue<size_t, std::vector<size_t>, decltype(later)> ready(later);
    for (size_t i = 0; i < works.size(); ++i)
      if (missing[i] == 0) ready.push(i);
    std::vector<Work> out;
    while (!ready.empty()) {
      const size_t i = ready.top();
      ready.pop();
      for (size_t s : successors[i])
        if (--missing[s] == 0) ready.push(s);
      out.push_back(std::move(works[i]));
    }
    GCG_CHECK(out.size() == works.size(), "the groups of a graph form a cycle");
    return out;
  }

  void emit(Scope& scope, const Work& w, Sequence& steps) {
    if (w.group->kind != Group::Kind::control) {
      if (product(*scope.graph.value(w.group->result).shape).is(0)) return;  // no element to compute
      steps.steps.push_back(launch(w.lowered, w.operands));
      return;
    }
    const Node& n = scope.graph.node(w.group->anchor);
    const std::string_view op = n.op->name;
    if (op == "If") branch(scope, n, steps);
    else if (op == "Loop") loop(scope, n, steps);
    else if (op == "Fail") fail_step(n, steps);
    else if (op == "Bind") bind_steps(scope, n, steps);
    else GCG_CHECK(false, "control node '", n.name, "' is a ", op);
  }

  Step launch(const LoweredGroup& lowered, std::vector<BufferId> operands) {
    Step step;
    auto [it, fresh] = kernels_.try_emplace(key(lowered.kernel), static_cast<int>(out_.kernels.size()));
    if (fresh) out_.kernels.push_back(lowered.kernel);
    step.kernel = KernelId(it->second);
    step.operands = std::move(operands);
    step.writes = {result_operand(lowered.kernel)};
    step.in_place = lowered.in_place;
    step.source = join(lowered.kernel.sources);
    return step;
  }

  static void fail_step(const Node& n, Sequence& steps) {
    Step step;
    step.kind = Step::Kind::fail;
    step.message = n.string_attribute("message", "the model takes a path that cannot be computed");
    step.source = n.name;
    steps.steps.push_back(std::move(step));
  }

  static bool is_bind(const Node& n) { return n.op == &op("Bind", "gart"); }

  void bind_steps(Scope& scope, const Node& n, Sequence& steps) {
    const std::vector<std::string> symbols = bound_symbols(n);
    for (size_t i = 0; i < symbols.size(); ++i) {
      Step step;
      step.kind = Step::Kind::bind;
      step.operands = {buffer(scope, n.inputs[i])};
      step.symbol = symbols[i];
      step.source = n.name;
      steps.steps.push_back(std::move(step));
      symbols_.insert(symbols[i]);
    }
    std::erase_if(late_facts_, [&](const DimConstraint& fact) {
      if (!known(fact.a) || !known(fact.b)) return false;
      steps.steps.push_back(fail_unless_equal(fact));
      return true;
    });
  }

  static Step fail_unless_equal(const DimConstraint& fact) {
    Step step;
    step.kind = Step::Kind::fail;
    step.message = fact.reason;
    step.differ = {fact.a, fact.b};
    return step;
  }

  /// What the body assumes about the inputs' extents, checked before its first step.
  void guard(const Graph& body, Sequence& steps) const {
    for (const DimConstraint& fact : body.constraints) {
      if (known(fact.a) && known(fact.b)) steps.steps.push_back(fail_unless_equal(fact));
    }
  }

  /// Is the extent known here, by the inputs or by what has been bound?
  bool known(const Dim& d) const {
    const std::set<std::string> symbols = d.symbols();
    return std::includes(symbols_.begin(), symbols_.end(), symbols.begin(), symbols.end());
  }

  // ---- control flow ---------------------------------------------------------------------------------------------------

  /// Buffers of a body's last inputs: the values the node captures.
  void bind_captures(Scope& scope, const Node& n, const Graph& body, BufferMap& map) {
    const size_t count = static_cast<size_t>(n.captures);
    for (size_t i = 0; i < count; ++i) {
      const ValueId outer = n.inputs[n.inputs.size() - count + i];
      map[body.inputs[body.inputs.size() - count + i]] = buffer(scope, outer);
    }
  }

  void branch(Scope& scope, const Node& n, Sequence& steps) {
    Step step;
    step.kind = Step::Kind::branch;
    step.operands = {buffer(scope, n.inputs[0])};
    step.source = n.name;
    for (const auto& body : n.bodies) {
      BufferMap inputs;
      bind_captures(scope, n, *body, inputs);
      std::vector<BufferId> outputs;
      for (size_t i = 0; i < body->outputs.size(); ++i)
        outputs.push_back(i < n.outputs.size() && n.outputs[i].valid()
                              ? buffer(scope, n.outputs[i])
                              : add_buffer(Buffer::Kind::temporary, body->value(body->outputs[i])));
      step.bodies.push_back(sequence(*body, inputs, outputs, {}));
    }
    steps.steps.push_back(std::move(step));
  }

  void copy(BufferId to, BufferId from, const std::string& source, Sequence& steps) {
    Step step;
    step.kind = Step::Kind::copy;
    step.operands = {to, from};
    step.writes = {0};
    step.source = source;
    steps.steps.push_back(std::move(step));
  }

  void loop(Scope& scope, const Node& n, Sequence& steps) {
    const Graph& body = *n.bodies[0];
    const size_t carried = body.inputs.size() - 2 - static_cast<size_t>(n.captures);
    Step step;
    step.kind = Step::Kind::loop;
    step.source = n.name;
    if (n.inputs[0].valid()) step.trip_count = buffer(scope, n.inputs[0]);
    step.iteration = add_buffer(Buffer::Kind::temporary, body.value(body.inputs[0]));
    BufferMap inputs = {{body.inputs[0], step.iteration}};
    bind_captures(scope, n, body, inputs);

    std::vector<BufferId> outputs;
    const BufferId condition = add_buffer(Buffer::Kind::temporary, body.value(body.inputs[1]));
    inputs[body.inputs[1]] = condition;
    outputs.push_back(add_buffer(Buffer::Kind::temporary, body.value(body.outputs[0])));
    const Value& again = body.value(body.outputs[0]);
    const bool always = (again.is_constant() && again.constant->at_int(0) != 0) || body.outputs[0] == body.inputs[1];
    const bool starts = !n.inputs[1].valid() || (scope.graph.value(n.inputs[1]).is_constant() &&
                                                 scope.graph.value(n.inputs[1]).constant->at_int(0) != 0);
    if (n.inputs[1].valid()) copy(condition, buffer(scope, n.inputs[1]), n.name, steps);
    if (!always || !starts) {
      GCG_CHECK(n.inputs[1].valid() || !always, "loop condition");
      step.condition = condition;
      if (!n.inputs[1].valid()) fill_true(condition, n.name, steps);
      step.carried_from.push_back(outputs[0]);
      step.carried_to.push_back(condition);
    } else if (!n.inputs[1].valid()) {
      fill_true(condition, n.name, steps);
    }
    for (size_t i = 0; i < carried; ++i) {
      const Value& in = body.value(body.inputs[2 + i]);
      const BufferId variable = i < n.outputs.size() && n.outputs[i].valid() ? buffer(scope, n.outputs[i])
                                                                           : add_buffer(Buffer::Kind::temporary, in);
      copy(variable, buffer(scope, n.inputs[2 + i]), n.name, steps);
      inputs[body.inputs[2 + i]] = variable;
      outputs.push_back(add_buffer(Buffer::Kind::temporary, body.value(body.outputs[1 + i])));
      step.carried_from.push_back(outputs.back());
      step.carried_to.push_back(variable);
    }
    std::map<size_t, RowStore> rows;
    for (size_t i = 1 + carried; i < body.outputs.size(); ++i) {
      outputs.push_back(add_buffer(Buffer::Kind::temporary, body.value(body.outputs[i])));
      const size_t o = i - 1;
      if (o < n.outputs.size() && n.outputs[o].valid()) {
        if (!always || !starts)
          problems_.push_back({n.name, "Loop", "", 0,
                               concat("scan output ", o, " of a loop that may end early has an extent that depends on data")});
        rows[i] = RowStore{buffer(scope, n.outputs[o]), step.iteration, *scope.graph.value(n.outputs[o]).shape, body.inputs[0]};
      }
    }
    step.bodies = {sequence(body, inputs, outputs, rows)};
    steps.steps.push_back(std::move(step));
  }

  /// A boolean constant `true` into a buffer.
  void fill_true(BufferId to, const std::string& source, Sequence& steps) {
    if (!true_) true_ = std::make_shared<Tensor>(Tensor::from<uint8_t>(DType::boolean, {}, {1}));
    Value v;
    v.name = "true";
    v.dtype = DType::boolean;
    v.shape = Shape{};
    v.constant = true_;
    copy(to, constant(v), source, steps);
  }

  void store_row(Scope& scope, ValueId value, BufferId from, const RowStore& row, Sequence& steps) {
    const LoweredGroup lowered = lower_row_store(scope.graph, value, row.iteration_value, row.shape);
    steps.steps.push_back(launch(lowered, {row.iteration, from, row.target}));
    steps.steps.back().source = scope.graph.value(value).name;
  }

  /// Every step waits for the guards and bindings before it, the last writers of what it reads and the last users of what it
  /// overwrites. Control steps count as readers and writers of everything their bodies touch.
  void link_waits(Sequence& sequence) {
    std::map<BufferId, StepId> writer;
    std::map<BufferId, std::vector<StepId>> readers;
    std::set<StepId> guards;
    for (size_t i = 0; i < sequence.steps.size(); ++i) {
      Step& s = sequence.steps[i];
      std::set<BufferId> reads, writes;
      touched(s, reads, writes);
      std::set<StepId> waits;
      for (BufferId b : reads)
        if (auto it = writer.find(b); it != writer.end()) waits.insert(it->second);
      for (BufferId b : writes) {
        if (auto it = writer.find(b); it != writer.end()) waits.insert(it->second);
        for (StepId r : readers[b]) waits.insert(r);
      }
      const StepId self(static_cast<int64_t>(i));
      waits.erase(self);
      waits.insert(guards.begin(), guards.end());
      if (s.kind == Step::Kind::fail || s.kind == Step::Kind::bind) guards.insert(self);
      s.waits.assign(waits.begin(), waits.end());
      for (BufferId b : writes) {
        writer[b] = self;
        readers[b].clear();
      }
      for (BufferId b : reads) readers[b].push_back(self);
    }
  }

  void touched(const Step& s, std::set<BufferId>& reads, std::set<BufferId>& writes) const {
    for (size_t i = 0; i < s.operands.size(); ++i) {
      const bool written = std::find(s.writes.begin(), s.writes.end(), static_cast<int>(i)) != s.writes.end();
      (written ? writes : reads).insert(s.operands[i]);
    }
    for (BufferId b : {s.trip_count, s.condition})
      if (b.valid()) reads.insert(b);
    if (s.iteration.valid()) writes.insert(s.iteration);
    for (BufferId b : s.carried_from) reads.insert(b);
    for (BufferId b : s.carried_to) writes.insert(b);
    for (int body : s.bodies)
      for (const Step& inner : out_.sequences[static_cast<size_t>(body)].steps) touched(inner, reads, writes);
  }

  DeviceClass device_;
  const Graph* outermost_ = nullptr;
  std::set<std::string> symbols_;  // of the inputs, and those bound so far
  std::set<std::string> late_;
  std::vector<DimConstraint> late_facts_;  // of the outermost graph, not checked yet
  Schedule out_;
  std::map<const Tensor*, BufferId> constants_;
  std::map<std::string, int> kernels_;
  std::vector<UnsupportedNode> problems_;
  TensorRef true_;
};

}  // namespace

Schedule make_schedule(const Graph& model, DeviceClass device) {
  const Graph graph = bind_extents(model);
  std::vector<UnsupportedNode> unsupported = find_unsupported(graph);
  if (!unsupported.empty()) throw UnsupportedModel(std::move(unsupported));
  return Scheduler(device).run(graph);
}

}  // namespace gcg
