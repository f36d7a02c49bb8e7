// If, Loop, Scan. The last inputs of their subgraphs are the node's captures (see Node::bodies).
#include <algorithm>

#include "compiler/ops/control_types.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/scan_params.h"

namespace gcg {
namespace {

// ---- If -------------------------------------------------------------------------------------------------------------

void infer_if(InferContext& c) {
  const Value& condition = c.input(0);
  if (condition.dtype != DType::undefined && condition.dtype != DType::boolean) c.fail("the condition must be bool");
  if (condition.shape && is_static(*condition.shape) && !product(*condition.shape).is(1))
    c.fail("the condition must have one element");
  const std::vector<Value> captures = capture_types(c);
  if (const auto known = c.int_contents(0)) {
    const std::vector<Value> taken = c.infer_body(known->at(0) != 0 ? 0 : 1, captures);
    for (int i = 0; i < c.output_count(); ++i) set_output_type(c, i, body_output(c, taken, i));
    return;
  }
  const std::vector<Value> then = c.infer_body(0, captures), otherwise = c.infer_body(1, captures);
  for (int i = 0; i < c.output_count(); ++i)
    set_output_type(c, i, merged_type(c, body_output(c, then, i), body_output(c, otherwise, i)));
}

std::vector<Tensor> reference_if(ReferenceContext& c) {
  GCG_CHECK(c.input(0) != nullptr && c.input(0)->elements() == 1, "the condition of If");
  return c.run_body(c.input(0)->at_int(0) != 0 ? 0 : 1, capture_tensors(c));
}

// ---- Loop -----------------------------------------------------------------------------------------------------------

/// The number of iterations, if it is known before the loop starts.
std::optional<Dim> trip_count(InferContext& c, const Value& body_condition) {
  const auto initial = own_input(c, 1) ? c.int_contents(1) : std::vector<int64_t>{1};
  if (!initial || initial->empty()) return std::nullopt;
  if (initial->at(0) == 0) return Dim(0);
  const auto again = known_elements(body_condition);
  if (!again || again->size() != 1 || !again->front().is(1) || !own_input(c, 0)) return std::nullopt;
  const auto most = c.contents(0);
  if (!most || most->empty()) return std::nullopt;
  if (const auto high = most->front().upper_bound(); high && *high <= 0) return Dim(0);
  if (const auto low = most->front().lower_bound(); low && *low >= 0) return most->front();
  return std::nullopt;
}

/// Adds the trip count and the condition if they are omitted at the end of the inputs.
void upgrade_loop(UpgradeContext& c) {
  while (own_inputs(c.node) < 2) c.node.inputs.insert(c.node.inputs.begin() + own_inputs(c.node), ValueId());
}

void infer_loop(InferContext& c) {
  for (int i : {0, 1})
    if (own_input(c, i) && c.dtype(i) != DType::undefined && c.dtype(i) != (i == 0 ? DType::i64 : DType::boolean))
      c.fail(i == 0 ? "the trip count must be i64" : "the condition must be bool");
  Value iteration = value_type(DType::i64, Shape{}), condition = value_type(DType::boolean, Shape{});
  condition.contents = {Dim(1)};  // an iteration only runs while the condition holds
  std::vector<Value> carried;
  for (int i = 2; i < own_inputs(c.node()); ++i) carried.push_back(c.input(i));
  CarriedValues settled = settle_carried(c, {iteration, condition}, carried, capture_types(c), 1);
  const std::vector<Value>& out = settled.body_outputs;
  const std::optional<Dim> trips = trip_count(c, out[0]);
  for (size_t k = 0; k < carried.size(); ++k)
    set_output_type(c, static_cast<int>(k), final_type(c, settled, k, carried[k], trips));
  const bool all_rows = c.node().int_attribute(kAllRowsAttribute, 0) != 0;
  const Dim count = all_rows ? c.contents(0)->front() : trips ? *trips : c.fresh_symbol("trips");
  for (size_t k = carried.size(); k + 1 < out.size(); ++k) {
    Value scan = visible_outside(c, out[k + 1]);
    if (scan.shape) scan.shape->insert(scan.shape->begin(), count);
    set_output_type(c, static_cast<int>(k), scan);
  }
}

std::vector<Tensor> reference_loop(ReferenceContext& c) {
  const int own = own_inputs(c.node());
  const Tensor* most = own > 0 ? c.input(0) : nullptr;
  const Tensor* initial = own > 1 ? c.input(1) : nullptr;
  bool running = initial == nullptr || initial->at_int(0) != 0;
  std::vector<Tensor> carried;
  for (int i = 2; i < own; ++i) carried.push_back(*c.input(i));
  const Graph& body = *c.node().bodies[0];
  std::vector<std::vector<Tensor>> scanned(body.outputs.size() - 1 - carried.size());
  for (int64_t i = 0; running && (most == nullptr || i < most->at_int(0)); ++i) {
    std::vector<Tensor> inputs{Tensor::scalar_i64(i), Tensor::from<uint8_t>(DType::boolean, {}, {1})};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (Tensor& capture : capture_tensors(c)) inputs.push_back(std::move(capture));
    std::vector<Tensor> out = c.run_body(0, std::move(inputs));
    running = out[0].at_int(0) != 0;
    for (size_t k = 0; k < carried.size(); ++k) carried[k] = std::move(out[1 + k]);
    for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(std::move(out[1 + carried.size() + k]));
  }
  if (c.node().int_attribute(kAllRowsAttribute, 0) != 0)
    for (auto& rows : scanned)
      while (!rows.empty() && static_cast<int64_t>(rows.size()) < most->at_int(0)) rows.push_back(rows.back());
  std::vector<Tensor> result = carried;
  for (size_t k = 0; k < scanned.size(); ++k)
    result.push_back(stack(scanned[k], 0, body.value(body.outputs[1 + carried.size() + k])));
  return result;
}

// ---- Scan -----------------------------------------------------------------------------------------------------------

void infer_scan(InferContext& c) {
  const ScanParams params(c.node());
  std::vector<Value> states, slices;
  for (int i = 0; i < params.states; ++i) states.push_back(c.input(i));
  std::optional<Dim> length;
  for (int i = 0; i < params.inputs; ++i) {
    Value slice = value_type(c.input(params.states + i).dtype, c.input(params.states + i).shape);
    if (slice.shape) {
      const int64_t axis = c.axis(params.input_axes[static_cast<size_t>(i)], static_cast<int64_t>(slice.shape->size()));
      const Dim extent = (*slice.shape)[static_cast<size_t>(axis)];
      length = length ? c.require_equal(*length, extent, "scan lengths") : extent;
      slice.shape->erase(slice.shape->begin() + axis);
    }
    slices.push_back(std::move(slice));
  }
  const std::vector<Value> captures = capture_types(c);
  slices.insert(slices.end(), captures.begin(), captures.end());
  const CarriedValues settled = settle_carried(c, {}, states, slices, 0);
  for (int k = 0; k < params.states; ++k)
    set_output_type(c, k, final_type(c, settled, static_cast<size_t>(k), states[static_cast<size_t>(k)], length));
  for (int k = 0; k < params.outputs; ++k) {
    Value out = visible_outside(c, settled.body_outputs[static_cast<size_t>(params.states + k)]);
    if (out.shape) {
      const int64_t axis =
          c.axis(params.output_axes[static_cast<size_t>(k)], static_cast<int64_t>(out.shape->size()) + 1);
      out.shape->insert(out.shape->begin() + axis, length ? *length : c.fresh_symbol("trips"));
    }
    set_output_type(c, params.states + k, out);
  }
}

std::vector<Tensor> reference_scan(ReferenceContext& c) {
  const ScanParams params(c.node());
  const Graph& body = *c.node().bodies[0];
  const auto normal = [](int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; };
  std::vector<Tensor> states;
  for (int i = 0; i < params.states; ++i) states.push_back(*c.input(i));
  const Tensor& first = *c.input(params.states);
  const int64_t length = first.shape()[static_cast<size_t>(normal(params.input_axes[0], first.rank()))];
  std::vector<std::vector<Tensor>> scanned(static_cast<size_t>(params.outputs));
  for (int64_t step = 0; step < length; ++step) {
    std::vector<Tensor> inputs = states;
    for (size_t i = 0; i < params.input_axes.size(); ++i) {
      const Tensor& whole = *c.input(params.states + static_cast<int>(i));
      const int64_t at = params.input_backward[i] != 0 ? length - 1 - step : step;
      inputs.push_back(slice_at(whole, normal(params.input_axes[i], whole.rank()), at));
    }
    for (Tensor& capture : capture_tensors(c)) inputs.push_back(std::move(capture));
    std::vector<Tensor> out = c.run_body(0, std::move(inputs));
    for (size_t k = 0; k < states.size(); ++k) states[k] = std::move(out[k]);
    for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(std::move(out[states.size() + k]));
  }
  std::vector<Tensor> result = states;
  for (size_t k = 0; k < scanned.size(); ++k) {
    if (params.output_backward[k] != 0) std::reverse(scanned[k].begin(), scanned[k].end());
    const Value& one = body.value(body.outputs[states.size() + k]);
    result.push_back(
        stack(scanned[k], normal(params.output_axes[k], static_cast<int64_t>(one.shape->size()) + 1), one));
  }
  return result;
}

/// Opset 8 had a leading batch axis and sequence lengths. The upgrade wraps the current form in an outer Scan over the
/// batch.
void upgrade_scan(UpgradeContext& c) {
  if (c.version >= 9) return;
  Node& node = c.node;
  if (node.inputs.empty() || node.inputs[0].valid()) fail("sequence_lens of Scan in opset 8 is not supported");
  node.inputs.erase(node.inputs.begin());
  const int64_t scans = node.int_attribute("num_scan_inputs", 0), own = own_inputs(node);
  auto wrapper = std::make_unique<Graph>();
  Node inner;
  inner.op = node.op;
  inner.name = node.name;
  inner.captures = node.captures;
  inner.attributes = {{"num_scan_inputs", scans}};
  if (node.has_attribute("directions")) inner.attributes["scan_input_directions"] = node.ints_attribute("directions");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Value input;
    input.name = "input";
    inner.inputs.push_back(wrapper->add_value(std::move(input)));
  }
  for (size_t i = 0; i < node.bodies[0]->outputs.size(); ++i) {
    Value output;
    output.name = "output";
    inner.outputs.push_back(wrapper->add_value(std::move(output)));
  }
  wrapper->inputs = inner.inputs;
  wrapper->outputs = inner.outputs;
  inner.bodies = std::move(node.bodies);
  wrapper->add_node(std::move(inner));
  node.bodies.clear();
  node.bodies.push_back(std::move(wrapper));
  node.attributes = {{"num_scan_inputs", own}};
}

// ---- gart.Fail ------------------------------------------------------------------------------------------------------

/// Replaces a branch that cannot be computed. The attribute `message` gives the reason. `dtypes`, `ranks` and `extents`
/// (of all outputs, as text) give the outputs' types.
void infer_fail(InferContext& c) {
  const std::vector<int64_t> dtypes = c.node().ints_attribute("dtypes"), ranks = c.node().ints_attribute("ranks");
  const std::vector<std::string> extents = c.node().strings_attribute("extents");
  size_t next = 0;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    Shape shape;
    for (int64_t d = 0; d < ranks.at(i); ++d) shape.push_back(Dim::parse(extents.at(next++)).value());
    c.set_output(static_cast<int>(i), static_cast<DType>(dtypes[i]), std::move(shape));
  }
}

std::vector<Tensor> reference_fail(ReferenceContext& c) { fail(c.node().string_attribute("message", "")); }

}  // namespace

const OpDef op_If{.name = "If",
                  .since = 1,
                  .min_inputs = 1,
                  .max_inputs = 1,
                  .min_outputs = 1,
                  .max_outputs = -1,
                  .types = {Types::booleans},
                  .results = {Types::any},
                  .kind = OpKind::control,
                  .allows_unknown_rank = true,
                  .infer = infer_if,
                  .reference = reference_if};

const OpDef op_Loop{.name = "Loop",
                    .since = 1,
                    .min_inputs = 2,
                    .max_inputs = -1,
                    .min_outputs = 0,
                    .max_outputs = -1,
                    .types = {Types::integers, Types::booleans, Types::any},
                    .results = {Types::any},
                    .kind = OpKind::control,
                    .allows_unknown_rank = true,
                    .upgrade = upgrade_loop,
                    .infer = infer_loop,
                    .reference = reference_loop};

const OpDef op_Scan{.name = "Scan",
                    .since = 8,
                    .min_inputs = 1,
                    .max_inputs = -1,
                    .min_outputs = 1,
                    .max_outputs = -1,
                    .results = {Types::any},
                    .kind = OpKind::control,
                    .allows_unknown_rank = true,
                    .upgrade = upgrade_scan,
                    .infer = infer_scan,
                    .reference = reference_scan};

const OpDef op_gart_Fail{.name = "Fail",
                         .domain = "gart",
                         .min_inputs = 0,
                         .max_inputs = -1,
                         .min_outputs = 0,
                         .max_outputs = -1,
                         .kind = OpKind::opaque,
                         .allows_unknown_rank = true,
                         .infer = infer_fail,
                         .reference = reference_fail};

}  // namespace gcg
