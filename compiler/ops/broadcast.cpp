#include "compiler/ops/broadcast.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace gcg {

Shape broadcast_inputs(InferContext& ctx, int first) {
  Shape shape = ctx.shape(first);
  for (int i = first + 1; i < ctx.input_count(); ++i)
    if (ctx.has_input(i)) shape = ctx.broadcast(shape, ctx.shape(i));
  return shape;
}

namespace {

/// f of each element; nullopt if an element is unknown, or too large for a Dim.
std::optional<std::vector<Dim>> combined(const std::vector<std::vector<Dim>>& inputs, size_t size,
                                         const std::function<std::optional<Dim>(const std::vector<Dim>&)>& f) {
  std::vector<Dim> result;
  for (size_t e = 0; e < size; ++e) {
    std::vector<Dim> operands;
    for (const auto& contents : inputs) operands.push_back(contents[contents.size() == 1 ? 0 : e]);
    try {
      const std::optional<Dim> value = f(operands);
      if (!value) return std::nullopt;
      result.push_back(*value);
    } catch (const InternalError&) {
      throw;
    } catch (const CompileError&) {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace

void combine_contents(InferContext& ctx, const std::function<std::optional<Dim>(const std::vector<Dim>&)>& f) {
  std::vector<std::vector<Dim>> inputs;
  size_t size = 1;
  for (int i = 0; i < ctx.input_count(); ++i) {
    auto contents = ctx.contents(i);
    if (!contents) return;
    if (contents->size() != 1) size = contents->size();
    inputs.push_back(std::move(*contents));
  }
  if (auto result = combined(inputs, size, f)) ctx.set_contents(0, std::move(*result));
}

std::vector<int64_t> broadcast_extents(const ReferenceContext& ctx) {
  std::vector<int64_t> out;
  for (int i = 0; i < ctx.input_count(); ++i) {
    std::vector<int64_t> shape = ctx.input(i)->shape();
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (size_t d = out.size() - shape.size(), s = 0; s < shape.size(); ++d, ++s) {
      if (shape[s] != 1 && out[d] != 1 && shape[s] != out[d])
        fail_node(ctx.node(), concat("extents ", out[d], " and ", shape[s], " do not broadcast"));
      if (shape[s] != 1) out[d] = shape[s];
    }
  }
  return out;
}

std::optional<Dim> truncated_quotient(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    if (b.is(0)) return std::nullopt;
    return b.is(-1) ? Dim(0) - a : Dim(a.constant() / b.constant());
  }
  if (b.lower_bound().value_or(-1) < 0 || b.is(0)) return std::nullopt;
  if (a.lower_bound().value_or(-1) >= 0) return floor_div(a, b);
  return floor_div(max(a, 0), b) - floor_div(max(Dim(0) - a, 0), b);
}

std::optional<Dim> provably_less(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (const auto high = difference.upper_bound(); high && *high < 0) return Dim(1);
  if (const auto low = difference.lower_bound(); low && *low >= 0) return Dim(0);
  return std::nullopt;
}

std::optional<Dim> provably_equal(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  const Dim difference = a - b;
  const auto low = difference.lower_bound(), high = difference.upper_bound();
  if ((low && *low > 0) || (high && *high < 0)) return Dim(0);
  return std::nullopt;
}

ValueId aligned(Graph& graph, const std::string& name_of_node, ValueId first, ValueId second, int64_t axis) {
  const auto value = [&](const char* name, std::vector<ValueId> inputs,
                         std::map<std::string, Attribute> attributes = {}) {
    const NodeId id = graph.add_node(op(name), name_of_node, std::move(inputs), 1, std::move(attributes));
    return graph.node(id).outputs[0];
  };
  const auto rank_of = [&](ValueId v) { return value("Size", {value("Shape", {v})}); };
  const ValueId after = value("Sub", {rank_of(first), rank_of(second)});
  const ValueId count = value("Sub", {after, graph.add_constant(name_of_node, Tensor::vector_i64({axis}))});
  const TensorRef one = std::make_shared<Tensor>(Tensor::vector_i64({1}));
  const ValueId ones = value("ConstantOfShape", {count}, {{"value", one}});
  const ValueId shape = value("Concat", {value("Shape", {second}), ones}, {{"axis", int64_t{0}}});
  return value("Reshape", {second, shape});
}

void align_second_operand(UpgradeContext& ctx, int64_t axis) {
  ctx.node.inputs.at(1) = aligned(ctx.graph, ctx.node.name, ctx.node.inputs.at(0), ctx.node.inputs[1], axis);
}

void upgrade_broadcast(UpgradeContext& ctx) {
  if (ctx.version >= 7) return;
  const bool on_demand = ctx.node.int_attribute("broadcast", 0) != 0 && ctx.node.has_attribute("axis");
  const int64_t axis = ctx.node.int_attribute("axis", 0);
  ctx.node.attributes.erase("broadcast");
  ctx.node.attributes.erase("axis");
  if (!on_demand) return;
  if (axis < 0)
    fail_node(ctx.node, concat("attribute 'axis' is ", axis, "; it must not be negative in opset ", ctx.version));
  align_second_operand(ctx, axis);
}

}  // namespace gcg
