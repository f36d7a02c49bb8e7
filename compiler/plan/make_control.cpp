#include <algorithm>

#include "compiler/ops/control_types.h"
#include "compiler/ops/data_extent.h"
#include "compiler/plan/extent_binder.h"
#include "compiler/plan/plan_maker.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

Step fail_unless_equal(const DimConstraint& fact) { return {Fail{fact.reason, {fact.a, fact.b}}, ""}; }

bool is_true(const Value& v) { return v.is_constant() && v.constant->at_int(0) != 0; }

}  // namespace

void PlanMaker::bind_steps(Scope& scope, const Node& n, Sequence& steps) {
  const std::vector<std::string> symbols = bound_symbols(n);
  for (size_t i = 0; i < symbols.size(); ++i) {
    steps.steps.push_back({Bind{symbols[i], buffer(scope, n.inputs[i])}, n.name});
    symbols_.insert(symbols[i]);
  }
}

void PlanMaker::check_facts(Sequence& steps) {
  std::erase_if(run_bound_facts_, [&](const DimConstraint& fact) {
    if (!known(fact.a) || !known(fact.b)) return false;
    steps.steps.push_back(fail_unless_equal(fact));
    return true;
  });
}

bool PlanMaker::known(const Dim& d) const {
  const std::set<std::string> symbols = d.symbols();
  return std::includes(symbols_.begin(), symbols_.end(), symbols.begin(), symbols.end());
}

void PlanMaker::bind_captures(Scope& scope, const Node& n, const Graph& body, BufferMap& map) {
  const size_t count = static_cast<size_t>(n.captures);
  for (size_t i = 0; i < count; ++i) {
    const ValueId outer = n.inputs[n.inputs.size() - count + i];
    map[body.inputs[body.inputs.size() - count + i]] = buffer(scope, outer);
  }
}

void PlanMaker::branch(Scope& scope, const Node& n, Sequence& steps) {
  Branch branch{buffer(scope, n.inputs[0]), {}};
  for (const auto& body : n.bodies) {
    BufferMap inputs;
    bind_captures(scope, n, *body, inputs);
    std::vector<BufferId> outputs;
    for (size_t i = 0; i < body->outputs.size(); ++i)
      outputs.push_back(i < n.outputs.size() && n.outputs[i].valid()
                            ? buffer(scope, n.outputs[i])
                            : add_buffer(Buffer::Kind::temporary, body->value(body->outputs[i])));
    branch.bodies.push_back(sequence(*body, inputs, outputs, {}));
  }
  steps.steps.push_back({std::move(branch), n.name});
}

void PlanMaker::loop(Scope& scope, const Node& n, Sequence& steps) {
  const Graph& body = *n.bodies[0];
  LoopParts parts{body, body.inputs.size() - 2 - static_cast<size_t>(n.captures), {}, {}, {}};
  Loop& loop = parts.loop;
  if (n.inputs[0].valid()) loop.trip_count = buffer(scope, n.inputs[0]);
  loop.iteration = add_buffer(Buffer::Kind::temporary, body.value(body.inputs[0]));
  parts.inputs[body.inputs[0]] = loop.iteration;
  bind_captures(scope, n, body, parts.inputs);
  loop_condition(scope, n, parts, steps);
  loop_variables(scope, n, parts, steps);
  const std::map<size_t, RowStore> rows = loop_rows(scope, n, parts);
  loop.body = sequence(body, parts.inputs, parts.outputs, rows);
  rebind(n, parts);
  steps.steps.push_back({std::move(loop), n.name});
}

void PlanMaker::rebind(const Node& n, const LoopParts& parts) {
  const std::vector<std::string> symbols = n.strings_attribute(kRebindsAttribute);
  Sequence& body = out_.sequences[parts.loop.body];
  for (size_t k = 0; k < symbols.size(); ++k)
    body.steps.push_back({Bind{symbols[k], parts.outputs[1 + parts.carried - symbols.size() + k]}, n.name});
}

void PlanMaker::loop_condition(Scope& scope, const Node& n, LoopParts& parts, Sequence& steps) {
  const Graph& body = parts.body;
  const BufferId condition = add_buffer(Buffer::Kind::temporary, body.value(body.inputs[1]));
  parts.inputs[body.inputs[1]] = condition;
  const BufferId again = add_buffer(Buffer::Kind::temporary, body.value(body.outputs[0]));
  parts.outputs.push_back(again);
  const bool given = n.inputs[1].valid();
  const bool starts = !given || is_true(scope.graph.value(n.inputs[1]));
  const bool goes_on = is_true(body.value(body.outputs[0])) || body.outputs[0] == body.inputs[1];
  parts.may_end_early = !starts || !goes_on;
  if (given)
    steps.steps.push_back({Copy{condition, buffer(scope, n.inputs[1])}, n.name});
  else
    fill_true(condition, n.name, steps);
  if (!parts.may_end_early) return;
  parts.loop.condition = condition;
  parts.loop.carried.push_back({again, condition});
}

void PlanMaker::loop_variables(Scope& scope, const Node& n, LoopParts& parts, Sequence& steps) {
  const Graph& body = parts.body;
  for (size_t i = 0; i < parts.carried; ++i) {
    const Value& in = body.value(body.inputs[2 + i]);
    const BufferId variable = i < n.outputs.size() && n.outputs[i].valid() ? buffer(scope, n.outputs[i])
                                                                           : add_buffer(Buffer::Kind::temporary, in);
    steps.steps.push_back({Copy{variable, buffer(scope, n.inputs[2 + i])}, n.name});
    parts.inputs[body.inputs[2 + i]] = variable;
    parts.outputs.push_back(add_buffer(Buffer::Kind::temporary, body.value(body.outputs[1 + i])));
    parts.loop.carried.push_back({parts.outputs.back(), variable});
  }
}

std::map<size_t, PlanMaker::RowStore> PlanMaker::loop_rows(Scope& scope, const Node& n, LoopParts& parts) {
  const Graph& body = parts.body;
  std::map<size_t, RowStore> rows;
  for (size_t i = 1 + parts.carried; i < body.outputs.size(); ++i) {
    parts.outputs.push_back(add_buffer(Buffer::Kind::temporary, body.value(body.outputs[i])));
    const size_t o = i - 1;
    if (o >= n.outputs.size() || !n.outputs[o].valid()) continue;
    if (parts.may_end_early && n.int_attribute(kAllRowsAttribute, 0) == 0)
      problems_.push_back(
          {n.name, "Loop", "", 0,
           concat("scan output ", o, " of a loop that may end early has an extent that depends on data")});
    rows[i] = RowStore{buffer(scope, n.outputs[o]), parts.loop.iteration, *scope.graph.value(n.outputs[o]).shape,
                       body.inputs[0]};
  }
  return rows;
}

void PlanMaker::fill_true(BufferId to, const std::string& source, Sequence& steps) {
  if (!true_) true_ = std::make_shared<Tensor>(Tensor::from<uint8_t>(DType::boolean, {}, {1}));
  Value v;
  v.name = "true";
  v.dtype = DType::boolean;
  v.shape = Shape{};
  v.constant = true_;
  steps.steps.push_back({Copy{to, constant(v)}, source});
}

void PlanMaker::store_row(Scope& scope, ValueId value, BufferId from, const RowStore& row, Sequence& steps) {
  const LoweredGroup lowered = lower_row_store(scope.graph, value, row.iteration_value, row.shape);
  steps.steps.push_back(launch(lowered, {row.iteration, from, row.target}));
  steps.steps.back().source = scope.graph.value(value).name;
}

}  // namespace gcg
