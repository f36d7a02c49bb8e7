#include "compiler/lowering/group_lowering.h"

#include <algorithm>
#include <functional>

#include "compiler/kernel/drop_operands.h"
#include "compiler/kernel/flat_loops.h"
#include "compiler/lowering/in_place.h"
#include "compiler/lowering/loop_schedule.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {

std::vector<Expr> refs(const std::vector<Axis>& axes) {
  std::vector<Expr> out;
  for (const Axis& a : axes) out.push_back(axis_ref(a));
  return out;
}

LoweredGroup GroupLowering::run() {
  switch (group_.kind) {
    case FusionGroup::Kind::loop:
      loop();
      break;
    case FusionGroup::Kind::matmul:
      matmul();
      break;
    case FusionGroup::Kind::conv:
      if (std::string_view(anchor().op->name) == "PlainConv")
        plain_conv();
      else
        conv();
      break;
    case FusionGroup::Kind::attention:
      attention();
      break;
    case FusionGroup::Kind::program:
      program();
      break;
    case FusionGroup::Kind::control:
      GCG_CHECK(false, "control flow has no kernel");
  }
  finish();
  return std::move(out_);
}

ValueId GroupLowering::stored(ValueId v) const {
  if (value(v).is_constant()) return v;
  const ValueId base = f_.view_of[v];
  // Constants and graph inputs have storage of their own.
  if (value(base).is_constant() || !value(base).producer.valid()) return base;
  return f_.storage(v);
}

void GroupLowering::take_operands() {
  for (const auto& o : values_.operands()) {
    GCG_CHECK(o.storage.valid(), "'", value(o.value).name, "' is read, but has no storage");
    out_.kernel.operands.push_back(
        Operand{memory_dtype(o.value, o.storage), value(o.storage).in_memory(*value(o.value).shape), false, -1});
    out_.storages.push_back(o.storage);
  }
  next_axis_ = values_.fresh_axis(Dim(0)).id;
}

DType GroupLowering::memory_dtype(ValueId v, ValueId storage) const {
  const DType stored = value(storage).stored;
  return stored == DType::undefined ? storage_dtype(value(v).dtype) : stored;
}

int GroupLowering::add_result(Shape shape) {
  out_.kernel.operands.push_back(Operand{memory_dtype(group_.result, group_.storage), std::move(shape), true, -1});
  out_.storages.push_back(group_.storage);
  return static_cast<int>(out_.kernel.operands.size()) - 1;
}

std::vector<Expr> GroupLowering::result_index(std::vector<Expr> index) const {
  for (const FusionGroup::StridedSlice& slice : group_.slices) {
    Expr& i = index[slice.axis];
    if (slice.step != 1) i = i * gcg::index(slice.step);
    i = i + extent(slice.offset);
  }
  return value(group_.storage).in_memory(std::move(index));
}

void GroupLowering::loop() {
  const Value& result = value(group_.result);
  const auto axes = values_.axes_for(*result.shape);
  const bool own =
      group_.storage == group_.result && group_.output_copy < 0 && !result.contents && !result.is_constant();
  Expr e = own ? values_.computed(group_.result, refs(axes)) : values_.element(group_.result, refs(axes));
  take_operands();
  const int r = add_result(result_shape());
  e = cast(out_.kernel.operands.back().dtype, e);
  out_.kernel.body = schedule_loops(value(group_.storage).in_memory(axes), e, r, result_index(refs(axes)),
                                    FlatIndices(out_.kernel.operands, f_.joins_dimensions), next_axis_);
}

ValueId GroupLowering::computed_value() const {
  return group_.epilogue.empty() ? anchor().outputs[0] : g_.node(group_.epilogue.back()).outputs[0];
}

Expr GroupLowering::epilogue(const std::vector<Axis>& axes) {
  const Expr sum = accumulator(value(anchor().outputs[0]).dtype);
  values_.bind(anchor().outputs[0], sum);
  return group_.epilogue.empty() ? sum : values_.computed(computed_value(), refs(axes));
}

std::vector<Expr> GroupLowering::contraction_index(const std::vector<Axis>& axes) const {
  std::vector<Expr> index = refs(axes);
  if (group_.transpose.valid()) {
    std::vector<Expr> permuted;
    for (int64_t p : g_.node(group_.transpose).ints_attribute("perm"))
      permuted.push_back(index[static_cast<size_t>(p)]);
    index = std::move(permuted);
  }
  return result_index(std::move(index));
}

void GroupLowering::finish() {
  Kernel& k = out_.kernel;
  // Operands that flattening added share the storage of the operand that they view.
  for (size_t i = out_.storages.size(); i < k.operands.size() && !k.operands[i].array; ++i)
    out_.storages.push_back(out_.storages[static_cast<size_t>(k.operands[i].flat_of)]);
  name();
  std::vector<ValueId> kept;
  for (size_t o : drop_unused_operands(k))
    if (o < out_.storages.size()) kept.push_back(out_.storages[o]);
  out_.storages = std::move(kept);
  out_.in_place = in_place_operands(k, out_.storages);
  verify_kernel(k);
}

void GroupLowering::name() {
  Kernel& k = out_.kernel;
  auto add = [&](const Node& n) {
    std::string op = n.op->name;
    std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return std::tolower(c); });
    k.name += (k.name.empty() ? "" : "_") + op;
    if (k.sources.size() < 4) k.sources.push_back(n.name);
  };
  if (group_.anchor.valid()) add(anchor());
  for (NodeId n : group_.epilogue) add(g_.node(n));
  if (!group_.anchor.valid()) {
    const NodeId p = value(group_.result).producer;
    if (p.valid() && group_.output_copy < 0) add(g_.node(p));
  }
  if (!group_.slices.empty() || k.name.empty()) k.name += k.name.empty() ? "copy" : "_into";
  if (k.name.size() > 60) k.name.resize(60);
}

LoweredGroup lower_group(const Graph& graph, const Fusion& fusion, const FusionGroup& group) {
  return GroupLowering(graph, fusion, group).run();
}

namespace {

/// out[to] = value[axes]. `to`: one index per axis of `value`, changed by `place`. The operands are the present
/// operands of `kernel`, then the value, then out.
void store_elsewhere(Kernel& kernel, const Value& value, const Shape& out_shape,
                     const std::function<std::vector<Expr>(std::vector<Expr>)>& place) {
  const DType dtype = storage_dtype(value.dtype);
  const auto from_operand = static_cast<int>(kernel.operands.size());
  kernel.operands.push_back(Operand{dtype, value.memory_shape(), false, -1});
  kernel.operands.push_back(Operand{dtype, out_shape, true, -1});
  Stage store;
  std::vector<Expr> from;
  for (const Dim& d : *value.shape) {
    store.axes.push_back(Axis{static_cast<int>(store.axes.size()), d});
    from.push_back(axis_ref(store.axes.back()));
  }
  std::erase_if(store.axes, [](const Axis& a) { return a.extent.is(1); });
  store.value = load(from_operand, dtype, value.in_memory(from));
  store.operand = from_operand + 1;
  store.index = place(std::move(from));
  LoopKernel loop;
  loop.stages = {store};
  kernel.body = loop;
  verify_kernel(kernel);
}

}  // namespace

LoweredGroup lower_append(const Graph& graph, const Node& append) {
  const ValueId rows = append.inputs[1], out = append.outputs[0];
  const Dim first = (*graph.value(append.inputs[0]).shape)[0];
  LoweredGroup lowered;
  lowered.kernel.name = "append";
  lowered.storages = {rows, out};
  store_elsewhere(lowered.kernel, graph.value(rows), *graph.value(out).shape, [&](std::vector<Expr> at) {
    at[0] = at[0] + extent(first);
    return at;
  });
  return lowered;
}

LoweredGroup lower_update(const Graph& graph, const Node& update) {
  const Value &rows = graph.value(update.inputs[1]), &out = graph.value(update.outputs[0]);
  const auto rank = static_cast<int64_t>(rows.shape->size());
  const auto axis = static_cast<size_t>((update.int_attribute("replaces", 0) + rank) % rank);
  LoweredGroup lowered;
  lowered.kernel.name = "update";
  lowered.storages = {update.inputs[1], update.outputs[0]};
  const bool has_first = update.inputs.size() > 2;
  if (has_first) {
    const Value& first = graph.value(update.inputs[2]);
    lowered.kernel.operands = {Operand{first.dtype, *first.shape, false, -1}};
    lowered.storages.insert(lowered.storages.begin(), update.inputs[2]);
  }
  store_elsewhere(lowered.kernel, rows, *out.shape, [&](std::vector<Expr> at) {
    if (has_first) at[axis] = at[axis] + cast(DType::i64, load(0, graph.value(update.inputs[2]).dtype, {at[0]}));
    at[axis] = binary(BinaryOp::checked_index, at[axis], extent((*out.shape)[axis]));
    return at;
  });
  return lowered;
}

LoweredGroup lower_row_store(const Graph& body, ValueId value, ValueId iteration, const Shape& out_shape) {
  const Value& i = body.value(iteration);
  LoweredGroup lowered;
  lowered.kernel.name = "store_row";
  lowered.kernel.operands = {Operand{i.dtype, *i.shape, false, -1}};
  lowered.storages = {iteration, value, value};
  store_elsewhere(lowered.kernel, body.value(value), out_shape, [&](std::vector<Expr> at) {
    at.insert(at.begin(), load(0, i.dtype, std::vector<Expr>(i.shape->size(), index(0))));
    return at;
  });
  return lowered;
}

}  // namespace gcg
