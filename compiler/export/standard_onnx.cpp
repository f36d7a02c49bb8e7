#include "compiler/export/standard_onnx.h"

#include <algorithm>
#include <string_view>

#include "compiler/ops/expansion.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

[[noreturn]] void refuse(const Node& node, const std::string& why) {
  fail("node '", node.name, "' (", node.op->name, ") cannot be written as ONNX: ", why);
}

/// Turns the node into an `op_name` of these inputs.
void become(Node& node, const char* op_name, std::vector<ValueId> inputs) {
  node.op = &op(op_name);
  node.inputs = std::move(inputs);
  node.attributes.clear();
}

/// Softmax and the like before opset 13 flatten all dimensions from the axis on into one.
void unflatten(Graph& graph, Node& node) {
  if (node.int_attribute("flatten", 0) == 0) return;
  NodeBuilder b(graph, node.name);
  const ValueId x = node.inputs.at(0);
  const ValueId rows = b.node("Flatten", {x}, {{"axis", node.int_attribute("axis", 1)}});
  const ValueId y = b.node(*node.op, {rows}, {{"axis", int64_t{1}}});
  become(node, "Reshape", {y, b.node("Shape", {x})});
}

/// Repeats the scale and bias of each group for each of its channels.
void scales_per_channel(Graph& graph, Node& node) {
  if (node.int_attribute("scale_per_group", 0) == 0) return;
  const int64_t groups = node.int_attribute("num_groups", 0);
  const auto& shape = graph.value(node.inputs.at(0)).shape;
  if (!shape || shape->size() < 2 || !(*shape)[1].is_constant() || groups < 1)
    refuse(node, "its scales are per group, and the number of channels is not known");
  NodeBuilder b(graph, node.name);
  const ValueId columns = b.ints({groups, 1}), all = b.ints({groups, (*shape)[1].constant() / groups}),
                flat = b.ints({-1});
  for (const size_t i : {1, 2}) {
    const ValueId column = b.node("Reshape", {node.inputs.at(i), columns});
    node.inputs[i] = b.node("Reshape", {b.node("Expand", {column, all}), flat});
  }
  node.attributes.erase("scale_per_group");
}

/// Resize-10 rounds positions down when it enlarges, and up when it shrinks. Newer opsets have one rule for all
/// dimensions.
void name_nearest(const Graph& graph, Node& node) {
  constexpr size_t kScales = 2;
  if (node.string_attribute("nearest_mode", "") != "simple") return;
  const bool nearest = node.string_attribute("mode", "nearest") == "nearest";
  const TensorRef scales = node.inputs.size() > kScales ? graph.value(node.inputs[kScales]).constant : TensorRef();
  if (nearest && scales == nullptr) refuse(node, "it has opset 10, and its scales are not constant");
  bool grows = false, shrinks = false;
  for (int64_t i = 0; nearest && i < scales->elements(); ++i) {
    grows = grows || scales->at_double(i) > 1;
    shrinks = shrinks || scales->at_double(i) < 1;
  }
  if (grows && shrinks) refuse(node, "it has opset 10, enlarges one dimension and shrinks another");
  node.attributes["nearest_mode"] = std::string(shrinks ? "ceil" : "floor");
}

/// A float cast saturates here, but ONNX leaves values outside of the target type undefined. Requantisation written as
/// nodes relies on saturation.
void clip_before(Graph& graph, Node& node) {
  const DType from = graph.value(node.inputs.at(0)).dtype, to = graph.value(node.outputs.at(0)).dtype;
  if (!is_float(from) || (to != DType::i8 && to != DType::u8)) return;
  NodeBuilder b(graph, node.name);
  const bool is_signed = to == DType::i8;
  node.inputs[0] =
      b.node("Clip", {node.inputs[0], b.scalar(from, is_signed ? -128 : 0), b.scalar(from, is_signed ? 127 : 255)});
}

void count_parts(Node& node) {
  const bool has_sizes = node.inputs.size() > 1 && node.inputs[1].valid();
  if (!has_sizes) node.attributes.emplace("num_outputs", static_cast<int64_t>(node.outputs.size()));
}

void name_sampling(Node& node) {
  const std::string mode = node.string_attribute("mode", "linear");
  if (mode == "bilinear" || mode == "bicubic") node.attributes["mode"] = mode.substr(2);
}

/// Makes the node a Dropout in training mode; the mode is input 2. Without that input, adds the constant true.
void name_training(Graph& graph, Node& node) {
  node.op = &op_Dropout;
  node.inputs.resize(3);
  if (node.inputs[2].valid()) return;
  Tensor yes(DType::boolean, {});
  yes.set_int(0, 1);
  node.inputs[2] = graph.add_constant(node.name + ".training", std::move(yes));
}

/// The reason why ONNX has no form for the node; empty if it has one.
std::string why_not(const Node& node) {
  if (std::string_view(node.op->domain) == "gart" && node.op != &op_gart_Custom)
    return "the operator is internal to this compiler";
  for (const char* strings : {"classlabels_strings", "values_strings", "keys_strings"})
    if (node.has_attribute(strings)) return "it has strings, which a graph stores as numbers";
  if (std::string_view(node.op->name) == "ZipMap") return "it makes maps, which a graph stores as tensors";
  return {};
}

void rewrite(Graph& graph, Node& node) {
  const std::string_view name = node.op->name;
  if (node.op == &op_gart_TrainingBatchNormalization.def) {
    node.op = &op_BatchNormalization;
    node.attributes["training_mode"] = int64_t{1};
  }
  if (node.op == &op_gart_TrainingDropout.def) name_training(graph, node);
  if (node.op == &op_Scatter) node.op = &op_ScatterElements;
  if (const std::string why = why_not(node); !why.empty()) refuse(node, why);
  std::erase_if(node.attributes, [](const auto& a) { return a.first == "consumed_inputs"; });
  if (node.op == &op_BatchNormalization) node.attributes.erase("spatial");
  if (node.op == &op_Gemm) node.attributes.erase("broadcast");
  if (node.op == &op_CastLike) clip_before(graph, node);
  if (node.op == &op_Split) count_parts(node);
  if (node.op == &op_GridSample) name_sampling(node);
  if (node.op == &op_Resize) name_nearest(graph, node);
  if (node.op == &op_GroupNormalization) scales_per_channel(graph, node);
  if (name == "Softmax" || name == "LogSoftmax" || name == "Hardmax") unflatten(graph, node);
}

/// The first opset in which all operators that may have elements of this type accept them.
int64_t opset_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 22;
    case DType::f4e2m1:
      return 23;
    case DType::i2:
    case DType::u2:
      return 25;
    default:
      return 1;
  }
}

/// The first opset with the node's operator and the features that it uses. Only features newer than opset 21 are
/// checked.
int64_t opset_of(const Graph& graph, const Node& node) {
  int64_t opset = node.op->since;
  const auto from = [&](int64_t version, bool has) { opset = has ? std::max(opset, version) : opset; };
  const auto type = [&](size_t i) {
    return i < node.inputs.size() && node.inputs[i].valid() ? graph.value(node.inputs[i]).dtype : DType::undefined;
  };
  from(23, node.op == &op_QuantizeLinear && type(0) != type(1));
  from(24, (node.op == &op_TopK || node.op == &op_SplitToSequence) && type(0) == DType::bf16);
  from(27, node.op == &op_Range && (type(0) == DType::f16 || type(0) == DType::bf16));
  from(22, node.int_attribute("ceil_mode", 0) != 0);  // since 22, elements outside of all windows count differently
  from(23, node.has_attribute("precision"));
  from(23, node.op == &op_DequantizeLinear && node.has_attribute("output_dtype"));
  from(24, node.has_attribute("round_mode"));
  from(24, node.op == &op_Attention && node.inputs.size() > 6);
  from(27, node.op == &op_Range && node.has_attribute("stash_type"));
  return opset;
}

}  // namespace

void to_standard_onnx(Graph& graph) {
  for (NodeId id : graph.order()) {
    rewrite(graph, graph.node(id));
    for (const auto& body : graph.node(id).bodies) to_standard_onnx(*body);
  }
}

int64_t opset_of(const Graph& graph, int64_t least) {
  int64_t opset = least;
  for (int64_t i = 0; i < graph.value_count(); ++i) opset = std::max(opset, opset_of(graph.value(ValueId(i)).dtype));
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (*node.op->domain == '\0') opset = std::max(opset, opset_of(graph, node));
    for (const auto& body : node.bodies) opset = opset_of(*body, opset);
  }
  return opset;
}

std::vector<std::string> body_names(const Node& node) {
  if (node.op == &op_If) return {"then_branch", "else_branch"};
  if (node.op == &op_FlexAttention) return node.strings_attribute("gart.bodies");
  return std::vector<std::string>(node.bodies.size(), "body");
}

}  // namespace gcg
