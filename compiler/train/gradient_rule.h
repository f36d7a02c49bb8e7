// Gradient rules: one per operator, written as formulas. Only the files of compiler/train/rules hold them, by family.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ops/op_def.h"
#include "compiler/train/formula.h"

namespace gcg {

/// A node for which gradients are computed. A rule gets the loss's gradients with respect to the results, and sets
/// those with respect to the operands.
class GradientContext : public FormulaWriter {
 public:
  /// `results`: the loss's gradient with respect to each result; an invalid id if the loss does not depend on it.
  /// `required`: the operands whose gradients are needed.
  GradientContext(Graph& graph, Graph& outermost, NodeId node, std::vector<ValueId> results,
                  std::vector<bool> required);

  const Node& node() { return graph().node(node_); }
  bool has_x(size_t i) { return i < node().inputs.size() && node().inputs[i].valid(); }
  size_t operands() { return node().inputs.size(); }
  /// Operand i of the node. Fails if it is omitted.
  Formula x(size_t i = 0) { return of(node().inputs.at(i)); }
  /// Result i of the node. If the node omits it, it is added.
  Formula y(size_t i = 0);
  bool has_g(size_t i = 0) const { return i < gradients_.size() && gradients_[i].valid(); }
  /// The loss's gradient with respect to result i; zeros if the loss does not depend on it.
  Formula g(size_t i = 0);
  bool wants(size_t i) const { return i < required_.size() && required_[i]; }
  /// Sets the gradient with respect to operand i. It may have another float type, or the shape after broadcasting (see
  /// fit()).
  void set(size_t i, Formula gradient);

  double number(const char* attribute, double otherwise) { return node().float_attribute(attribute, otherwise); }
  int64_t integer(const char* attribute, int64_t otherwise) { return node().int_attribute(attribute, otherwise); }
  /// Attribute "axis" in [0, rank of operand 0).
  int64_t axis(int64_t otherwise);
  /// The elements of an operand that must be known when compiling; `role` names it: "the axes".
  std::vector<int64_t> known(size_t i, const char* role);
  /// Fails with "the gradient of Pad 'pad1': message".
  [[noreturn]] void fail(const std::string& message);

  /// The gradients by operand; an invalid id if the rule set none.
  const std::vector<ValueId>& found() const { return found_; }

 private:
  NodeId node_;
  std::vector<ValueId> gradients_;
  std::vector<bool> required_;
  std::vector<ValueId> found_;
};

using GradientRule = void (*)(GradientContext&);

/// Used as a rule if the operator's results are floats, but constant almost everywhere. Operators whose results are
/// whole numbers need no such row.
void zero_gradient(GradientContext&);
/// Used as a rule if expand_for_gradients replaces the operator. Operators of expansion.h need no such row.
void gradient_of_expansion(GradientContext&);

/// The rule of an operator, by ONNX name and domain.
struct GradientRow {
  const char* op;
  GradientRule rule;
  const char* domain = "";
};

/// How an operator treats gradients.
enum class GradientKind : uint8_t {
  rule,      // it has a rule
  expanded,  // it has no gradient of its own, but is replaced by operators that have one
  zero,      // its results are constant almost everywhere, or whole numbers
  none,      // a loss that depends on an operand through this operator is refused
};
GradientKind gradient_kind(const OpDef& op);
/// The rule of an operator whose kind is `rule`; else null.
GradientRule gradient_rule_of(const OpDef& op);

// The rows of each family (compiler/train/rules).
std::span<const GradientRow> arithmetic_gradients();
std::span<const GradientRow> activation_gradients();
std::span<const GradientRow> product_gradients();
std::span<const GradientRow> convolution_gradients();
std::span<const GradientRow> pool_gradients();
std::span<const GradientRow> reduction_gradients();
std::span<const GradientRow> normalization_gradients();
std::span<const GradientRow> shape_gradients();
std::span<const GradientRow> movement_gradients();
std::span<const GradientRow> index_gradients();
std::span<const GradientRow> loss_gradients();
std::span<const GradientRow> control_gradients();

}  // namespace gcg
