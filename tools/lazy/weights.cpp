#include "tools/lazy/weights.h"

#include <algorithm>

#include "compiler/kernel/pack_panels.h"
#include "compiler/kernel/packing.h"
#include "compiler/ops/op_def.h"

namespace gcc_graph::lazy {
namespace {

// A weight lasts once this many runs have read it; values that change in each step of a loop are read by fewer runs.
constexpr int64_t kLastingReadings = 4;

bool is_packable(const Node& node) {
  return node.ready && node.value != nullptr && node.type->dtype == gcg::DType::f32 && node.type->shape().size() == 2 &&
         node.type->elements >= gcg::kLeastPackedElements;
}

/// True if the node has this operator and has not been computed.
bool is_called(const Node& node, const char* name) {
  return !node.ready && node.op != nullptr && node.op->def != nullptr && node.op->name == name;
}

bool swaps_axes(const Node& node) {
  if (!is_called(node, "Transpose") || node.type->shape().size() != 2) return false;
  const auto it = node.op->raw_attributes.find("perm");
  return it == node.op->raw_attributes.end() || it->second == Attribute(std::vector<int64_t>{1, 0});
}

Buffer& buffer_of(const Cut& cut, const Weight& weight) { return *cut.nodes[weight.position]->value; }

}  // namespace

const Type* Weight::panels_type(const Type& matrix) const {
  const int64_t shape[] = {gcg::blocks_of(columns(matrix), gcg::kPanelColumns), rows(matrix), gcg::kPanelColumns};
  return intern_type(gcg::DType::f32, shape);
}

std::optional<Weight> weight_of(const Node& product) {
  if (!is_called(product, "MatMul") || product.inputs()[0]->type->shape().size() < 2) return std::nullopt;
  const Node* right = product.inputs()[1];
  const bool is_transposed = swaps_axes(*right);
  if (is_transposed) right = right->inputs()[0];
  if (!is_packable(*right)) return std::nullopt;
  return Weight{right->position, is_transposed};
}

std::vector<Weight> weights_of(const Cut& cut, const Pattern& pattern) {
  const std::vector<size_t> first = first_extents(cut);
  std::vector<Weight> weights;
  for (const Node* node : cut.nodes) {
    const std::optional<Weight> weight = weight_of(*node);
    if (!weight || std::find(weights.begin(), weights.end(), *weight) != weights.end()) continue;
    const size_t extents = first[weight->position];
    if (pattern.symbol[extents] < 0 && pattern.symbol[extents + 1] < 0) weights.push_back(*weight);
  }
  return weights;
}

void count_readings(const Cut& cut, const std::vector<Weight>& weights) {
  for (const Weight& w : weights) ++buffer_of(cut, w).readings;
}

bool is_lasting(const Cut& cut, const Weight& weight) { return buffer_of(cut, weight).readings > kLastingReadings; }

const Buffer& panels_of(const Cut& cut, const Weight& weight) {
  Buffer& buffer = buffer_of(cut, weight);
  Buffer*& panels = buffer.panels[weight.is_transposed ? 1 : 0];
  if (panels == nullptr) {
    const Type& type = *buffer.type;
    panels = Buffer::allocate(*weight.panels_type(type), buffer.maker);
    const int64_t columns = type.shape()[1];
    gcg::pack_panels<float>({static_cast<const float*>(buffer.data), weight.rows(type), weight.columns(type),
                             weight.is_transposed ? 1 : columns, weight.is_transposed ? columns : 1},
                            gcg::kPanelColumns, static_cast<float*>(panels->data));
  }
  return *panels;
}

}  // namespace gcc_graph::lazy
