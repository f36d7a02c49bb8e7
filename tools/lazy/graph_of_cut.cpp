#include "tools/lazy/graph_of_cut.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "compiler/kernel/packing.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tools/lazy/infer_types.h"

namespace gcc_graph::lazy {

namespace {

class Builder final : public OperandSource {
 public:
  Builder(const Cut& cut, const Pattern& pattern, const Naming* naming, std::span<const Weight> packed)
      : cut_(cut),
        pattern_(pattern),
        naming_(naming),
        packed_(packed),
        values_(cut.nodes.size()),
        first_extent_(first_extents(cut)) {}

  gcg::Graph run() {
    if (naming_ != nullptr) add_named_inputs();
    for (const uint32_t at : cut_.evaluated)
      if (values_[at].empty()) add_given(at);
    for (int32_t s = 0; s < pattern_.symbols; ++s) add_carrier(s);
    for (const Weight& w : packed_) add_panels(w);
    for (const uint32_t at : running_order(cut_)) add(at);
    for (const uint32_t at : cut_.results) graph_.outputs.push_back(output(at));
    return std::move(graph_);
  }

  gcg::ValueId integers(size_t first, std::span<const int64_t> values, bool is_scalar) override {
    bool is_fixed = true;
    for (size_t i = 0; i < values.size(); ++i) is_fixed = is_fixed && pattern_.symbol[ints_at_ + first + i] < 0;
    if (is_fixed) return ConstantOperands(graph_).integers(first, values, is_scalar);
    std::vector<gcg::ValueId> parts;
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t s = pattern_.symbol[ints_at_ + first + i];
      parts.push_back(s < 0 ? ConstantOperands(graph_).integers(0, values.subspan(i, 1), false)
                            : node("Shape", {carriers_[static_cast<size_t>(s)]}));
    }
    if (is_scalar) return node("Squeeze", {parts[0]});
    return parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", int64_t{0}}});
  }

 private:
  gcg::ValueId node(const char* op, const std::vector<gcg::ValueId>& inputs,
                    std::map<std::string, gcg::Attribute> attributes = {}) {
    const gcg::NodeId id = graph_.add_node(gcg::op(op), graph_.unique_name(op), inputs, 1, std::move(attributes));
    return graph_.node(id).outputs[0];
  }

  gcg::ValueId add_input(const std::string& name, gcg::DType dtype, gcg::Shape shape) {
    gcg::Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = std::move(shape);
    graph_.inputs.push_back(graph_.add_value(std::move(value)));
    return graph_.inputs.back();
  }

  static gcg::Dim symbol(int32_t number) { return gcg::Dim::symbol("s" + std::to_string(number)); }

  void add_named_inputs() {
    std::map<const Node*, uint32_t> evaluated;
    for (const uint32_t at : cut_.evaluated) evaluated[cut_.nodes[at]] = at;
    for (size_t i = 0; i < naming_->inputs.size(); ++i) {
      const Node* node = naming_->inputs[i];
      const auto it = evaluated.find(node);
      const std::string name = i < naming_->input_names.size() ? naming_->input_names[i] : "in" + std::to_string(i);
      if (it == evaluated.end()) {  // no node reads this value
        add_input(name, node->type->dtype, gcg::to_shape(node->type->extents->values));
      } else {
        values_[it->second] = {add_input(name, node->type->dtype, shape_of(it->second))};
      }
    }
  }

  gcg::Shape shape_of(uint32_t at) const {
    const Type& type = *cut_.nodes[at]->type;
    gcg::Shape shape;
    for (size_t d = 0; d < type.shape().size(); ++d) {
      const int32_t s = pattern_.symbol[first_extent_[at] + d];
      shape.push_back(s < 0 ? gcg::Dim(type.shape()[d]) : symbol(s));
    }
    return shape;
  }

  void add_given(uint32_t at) {
    const Type& type = *cut_.nodes[at]->type;
    if (naming_ != nullptr) {
      gcg::Tensor copy(type.dtype, {type.shape().begin(), type.shape().end()});
      if (type.bytes > 0) std::memcpy(copy.mutable_data(), cut_.nodes[at]->data(), static_cast<size_t>(type.bytes));
      const std::string name = "constant" + std::to_string(at);
      if (naming_->parameters == nullptr) {
        values_[at] = {graph_.add_constant(name, std::move(copy))};
      } else {
        values_[at] = {add_input(graph_.unique_name(name), type.dtype, gcg::to_shape(type.extents->values))};
        (*naming_->parameters)[graph_.value(values_[at].front()).name] = std::make_shared<gcg::Tensor>(std::move(copy));
      }
      return;
    }
    values_[at] = {add_input("in" + std::to_string(graph_.inputs.size()), type.dtype, shape_of(at))};
  }

  void add_carrier(int32_t number) {
    carriers_.push_back(add_input("extent" + std::to_string(number), gcg::DType::u8, {symbol(number)}));
  }

  void add_panels(const Weight& w) {
    const Type& type = *w.panels_type(*cut_.nodes[w.position]->type);
    panels_.push_back(
        add_input("panels" + std::to_string(panels_.size()), type.dtype, gcg::to_shape(type.extents->values)));
  }

  /// Adds a product with packed weights. Returns false if the node is not such a product.
  bool add_packed_product(uint32_t at) {
    const Node& recorded = *cut_.nodes[at];
    const std::optional<Weight> weight = packed_.empty() ? std::nullopt : weight_of(recorded);
    const auto it = weight ? std::find(packed_.begin(), packed_.end(), *weight) : packed_.end();
    if (it == packed_.end()) return false;
    const Type& matrix = *cut_.nodes[it->position]->type;
    const gcg::ValueId right = panels_[static_cast<size_t>(it - packed_.begin())];
    const gcg::NodeId id =
        graph_.add_node(gcg::op("PackedMatMul", "gart"), recorded.op->name + " " + std::to_string(at),
                        {values_[recorded.inputs()[0]->position].front(), right}, 1,
                        {{"k", it->rows(matrix)}, {"n", it->columns(matrix)}, {"columns", gcg::kPanelColumns}});
    values_[at] = graph_.node(id).outputs;
    gcg::infer_node(graph_, id, graph_);
    return true;
  }

  void add(uint32_t at) {
    if (add_packed_product(at)) return;
    const Node& recorded = *cut_.nodes[at];
    if (recorded.op->def == nullptr) {
      values_[at] = {values_[recorded.near[0]->position].at(static_cast<size_t>(recorded.op->index))};
      return;
    }
    std::vector<gcg::ValueId> inputs;
    for (const Node* input : recorded.inputs()) inputs.push_back(values_[input->position].front());
    ints_at_ = first_extent_[at];
    const gcg::NodeId id =
        add_operator(graph_, *recorded.op, recorded.op->name + " " + std::to_string(at), inputs, recorded.ints, *this);
    values_[at] = graph_.node(id).outputs;
    gcg::infer_node(graph_, id, graph_);
  }

  /// Gives each result its own value: no result is an input, and no two results share a value.
  gcg::ValueId output(uint32_t at) {
    const gcg::ValueId value = values_[at].front();
    const bool is_own = graph_.value(value).producer.valid() && !graph_.is_output(value);
    const gcg::ValueId own = is_own ? value : node("Identity", {value});
    const size_t k = graph_.outputs.size();
    if (naming_ != nullptr)
      graph_.value(own).name = k < naming_->output_names.size() ? naming_->output_names[k] : "out" + std::to_string(k);
    return own;
  }

  const Cut& cut_;
  const Pattern& pattern_;
  const Naming* naming_;
  std::span<const Weight> packed_;
  gcg::Graph graph_;
  std::vector<std::vector<gcg::ValueId>> values_;  // indexed by position
  std::vector<gcg::ValueId> carriers_, panels_;
  const std::vector<size_t> first_extent_;
  size_t ints_at_ = 0;
};

}  // namespace

gcg::Graph graph_of_cut(const Cut& cut, const Pattern& pattern, const Naming* naming, std::span<const Weight> packed) {
  return Builder(cut, pattern, naming, packed).run();
}

std::vector<Node*> fixed_values(std::span<Node* const> requested, std::span<Node* const> inputs) {
  Cut cut;
  make_cut(requested, cut, true, inputs);
  std::vector<bool> is_fixed(cut.nodes.size(), false);
  for (const uint32_t at : cut.evaluated)
    is_fixed[at] = std::find(inputs.begin(), inputs.end(), cut.nodes[at]) == inputs.end();
  const std::vector<uint32_t> order = running_order(cut);
  std::vector<bool> runs(cut.nodes.size(), false);
  for (const uint32_t at : order) {
    runs[at] = true;
    const auto reads = cut.nodes[at]->inputs();
    is_fixed[at] = std::all_of(reads.begin(), reads.end(), [&](const Node* n) { return is_fixed[n->position]; });
  }
  std::vector<Node*> fixed;
  std::vector<bool> known(cut.nodes.size(), false);
  const auto add = [&](uint32_t at) {
    if (!runs[at] || !is_fixed[at] || known[at] || cut.nodes[at]->type == nullptr) return;
    known[at] = true;
    fixed.push_back(cut.nodes[at]);
  };
  for (const uint32_t at : order)
    if (!is_fixed[at])
      for (const Node* input : cut.nodes[at]->inputs()) add(input->position);
  for (const uint32_t at : cut.results) add(at);
  return fixed;
}

gcg::Graph graph_to_save(std::span<Node* const> requested, std::span<Node* const> inputs, const SaveOptions& options,
                         std::map<std::string, gcg::TensorRef>* parameters) {
  Cut cut;
  std::vector<Node*> ends(inputs.begin(), inputs.end());
  if (parameters != nullptr)
    for (Node* node : fixed_values(requested, inputs))
      if (node->ready) ends.push_back(node);
  make_cut(requested, cut, true, ends);
  const std::vector<int64_t> extents = flat_extents(cut);
  Pattern pattern = Pattern::of(extents);
  if (options.open_batch) {
    const std::vector<size_t> first = first_extents(cut);
    for (const uint32_t at : cut.evaluated) {
      const Node* node = cut.nodes[at];
      const bool is_input = std::find(inputs.begin(), inputs.end(), node) != inputs.end();
      if (is_input && !node->type->shape().empty()) pattern.symbol[first[at]] = 0;
    }
    pattern.symbols = 0;  // the inputs have these symbols as extents, so no inputs are added for them
  }
  const Naming naming{inputs, options.input_names, options.output_names, parameters};
  gcg::Graph graph = graph_of_cut(cut, pattern, &naming);
  graph.name = "lazy";
  return graph;
}

}  // namespace gcc_graph::lazy
