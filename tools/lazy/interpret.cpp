#include "tools/lazy/interpret.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tools/lazy/infer_types.h"

namespace gcc_graph::lazy {
namespace {

gcg::Tensor view(const Type& type, const void* data) {
  return {type.dtype, {type.shape().begin(), type.shape().end()}, data, nullptr};
}

Buffer* copied(const gcg::Tensor& tensor, const Node& node) {
  Buffer* buffer = Buffer::allocate(*node.type, node.op);
  if (node.type->bytes > 0) std::memcpy(buffer->data, tensor.data(), static_cast<size_t>(node.type->bytes));
  return buffer;
}

/// The context that one operator's reference function receives.
class Context final : public gcg::ReferenceContext {
 public:
  Context(const Op& op, const Node& recorded, const std::vector<std::vector<gcg::Tensor>>& values) {
    inputs_ = {};
    size_t array = 0, list = 0, first = 0, constant = 0;
    for (const char kind : op.operands) {
      if (kind == 'x') {
        inputs_.push_back(values[recorded.inputs()[array++]->position].front());
      } else if (kind == 'f') {
        inputs_.push_back(*op.constants[constant++]);
      } else if (kind == '_') {
        inputs_.emplace_back();
      } else {
        const uint32_t length = recorded.ints->lengths[list++];
        const auto from = recorded.ints->values.begin() + static_cast<std::ptrdiff_t>(first);
        const std::vector<int64_t> ints(from, from + length);
        inputs_.push_back(kind == 's' ? gcg::Tensor::scalar_i64(ints[0]) : gcg::Tensor::vector_i64(ints));
        first += length;
      }
      node_.inputs.push_back(kind == '_' ? gcg::ValueId() : gcg::ValueId(static_cast<int64_t>(inputs_.size()) - 1));
    }
    while (!node_.inputs.empty() && !node_.inputs.back().valid()) node_.inputs.pop_back();
    node_.op = op.def;
    node_.name = op.name;
    node_.attributes = op.attributes;
    for (int k = 0; k < op.outputs; ++k) node_.outputs.emplace_back(int64_t{k});
    outputs_ = &infer_types(op, recorded.inputs(), recorded.ints);
  }
  const gcg::Node& node() const override { return node_; }
  const gcg::Tensor* input(int i) const override {
    const auto k = static_cast<size_t>(i);
    return k < node_.inputs.size() && node_.inputs[k].valid() ? &inputs_[k] : nullptr;
  }
  gcg::DType output_dtype(int i) const override { return outputs_->outputs.at(static_cast<size_t>(i))->dtype; }
  std::vector<gcg::Tensor> run_body(int, std::vector<gcg::Tensor>) override { gcg::fail("there are no bodies here"); }

 private:
  gcg::Node node_;
  std::vector<gcg::Tensor> inputs_;
  const InferredTypes* outputs_;
};

double work_of(const Node& node) {
  const auto elements = [](const Node* n) { return n->type == nullptr ? 0.0 : static_cast<double>(n->type->elements); };
  double most = elements(&node);
  for (const Node* input : node.inputs()) most = std::max(most, elements(input));
  if (node.op->def->kind != gcg::OpKind::contraction || node.count < 2) return node.type == nullptr ? 16 * most : most;
  // For each element of the result, the product reads one column of the weights, or one filter.
  const std::span<const int64_t> weights = node.inputs()[1]->type->shape();
  const bool is_conv = weights.size() > 2 && std::string_view(node.op->def->name).starts_with("Conv");
  const double depth = weights.empty() ? 1
                       : is_conv ? elements(node.inputs()[1]) / static_cast<double>(std::max<int64_t>(1, weights[0]))
                       : weights.size() == 1
                           ? static_cast<double>(weights[0])
                           : static_cast<double>(std::max(weights[weights.size() - 2], weights.back()));
  return std::max(most, elements(&node) * depth);
}

}  // namespace

double interpreter_work(const Cut& cut) {
  double work = 0;
  size_t evaluated = 0;
  for (uint32_t at = 0; at < cut.nodes.size(); ++at) {
    if (evaluated < cut.evaluated.size() && cut.evaluated[evaluated] == at) {
      ++evaluated;
      continue;
    }
    const Node& node = *cut.nodes[at];
    if (node.op->def == nullptr) continue;
    if (node.op->def->reference == nullptr) return -1;
    work += 100 + work_of(node);
  }
  return work;
}

std::vector<Buffer*> interpret(const Cut& cut) {
  std::vector<std::vector<gcg::Tensor>> values(cut.nodes.size());
  std::vector<uint32_t> readers(cut.nodes.size(), 0);
  for (const uint32_t at : cut.evaluated) values[at] = {view(*cut.nodes[at]->type, cut.nodes[at]->data())};
  const std::vector<uint32_t> order = running_order(cut);
  for (const uint32_t at : cut.results) ++readers[at];
  for (const uint32_t at : order)
    for (const Node* input : cut.nodes[at]->inputs()) ++readers[input->position];
  for (const uint32_t at : order) {
    const Node& node = *cut.nodes[at];
    if (node.op->def == nullptr) {
      values[at] = {values[node.near[0]->position].at(static_cast<size_t>(node.op->index))};
    } else {
      try {
        Context context(*node.op, node, values);
        values[at] = node.op->def->reference(context);
      } catch (const std::bad_alloc&) {
        throw Failure(gcg::concat(node.op->name, ": out of memory; ", held_values()), node.source);
      } catch (const std::exception& error) {
        throw Failure(gcg::concat(node.op->name, ": ", error.what()), node.source);
      }
    }
    for (const Node* input : node.inputs())
      if (--readers[input->position] == 0) values[input->position].clear();
  }
  std::vector<Buffer*> out;
  try {
    for (const uint32_t at : cut.results) out.push_back(copied(values[at].front(), *cut.nodes[at]));
  } catch (...) {
    for (Buffer* buffer : out) buffer->release();
    throw;
  }
  return out;
}

}  // namespace gcc_graph::lazy
