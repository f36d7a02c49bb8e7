#include "compiler/passes/expand_einsum.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/ops/einsum.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"

namespace gcg {
namespace {

using Labels = Equation::Labels;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool has_repeats(const Labels& labels) { return std::set<int>(labels.begin(), labels.end()).size() != labels.size(); }

/// The labels of a product, by the tensors that have them. `rows`: the left operand and the result. `columns`: the
/// right operand and the result. `batch`: all three. `depth`: the operands only. Their order is that of the result or
/// of the left operand.
struct Roles {
  Labels batch, rows, columns, depth;
};

class EinsumWriter {
 public:
  EinsumWriter(Graph& graph, NodeId id) : graph_(graph), id_(id), b_(graph, graph.node(id).name) {}

  /// Returns false if the Einsum is not a product and stays.
  bool run() {
    const Node& n = graph_.node(id_);
    if (n.inputs.size() < 2 || !is_float(graph_.value(n.inputs[0]).dtype)) return false;
    std::vector<int64_t> ranks;
    for (ValueId in : n.inputs) ranks.push_back(static_cast<int64_t>(graph_.value(in).shape->size()));
    const Equation equation = read_equation(n, ranks);
    if (n.inputs.size() > 2) return join_pair(equation);
    left_ = {n.inputs[0], equation.operands[0]};
    right_ = {n.inputs[1], equation.operands[1]};
    result_ = equation.output;
    // The last dimension of the result should be a column of the product.
    if (!result_.empty() && !contains(right_.labels, result_.back())) std::swap(left_, right_);
    if (!find_roles()) return false;
    write();
    return true;
  }

 private:
  struct Operand {
    ValueId value;
    Labels labels;
  };

  /// Multiplies two of many operands by an Einsum of their own. Prefers a pair that sums a label away.
  bool join_pair(const Equation& equation) {
    std::vector<Operand> all;
    for (size_t i = 0; i < equation.operands.size(); ++i)
      all.push_back({graph_.node(id_).inputs[i], equation.operands[i]});
    size_t first = 0, second = 1;
    for (size_t i = all.size(); i-- > 0;)
      for (size_t j = all.size(); j-- > i + 1;) {
        const Labels left = kept_of(all, i, j, equation.output);
        const bool sums = std::any_of(all[i].labels.begin(), all[i].labels.end(), [&](int label) {
          return contains(all[j].labels, label) && !contains(left, label);
        });
        if (sums) first = i, second = j;
      }
    const Labels remaining = kept_of(all, first, second, equation.output);
    const Operand pair = {einsum({all[first], all[second]}, remaining), remaining};
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(second));
    all[first] = pair;
    b_.replace(graph_.node(id_).outputs[0], einsum(all, equation.output));
    graph_.erase_node(id_);
    return true;
  }

  /// The labels of two operands that also occur in the result or in another operand.
  static Labels kept_of(const std::vector<Operand>& all, size_t first, size_t second, const Labels& result) {
    Labels remaining;
    for (size_t own : {first, second})
      for (int label : all[own].labels) {
        bool used = contains(result, label);
        for (size_t i = 0; i < all.size(); ++i)
          used = used || (i != first && i != second && contains(all[i].labels, label));
        if (used && !contains(remaining, label)) remaining.push_back(label);
      }
    return remaining;
  }

  ValueId einsum(const std::vector<Operand>& operands, const Labels& result) {
    std::string names;
    Labels known;
    const auto name = [&](int label) {
      const auto at = std::find(known.begin(), known.end(), label) - known.begin();
      if (at == static_cast<std::ptrdiff_t>(known.size())) known.push_back(label);
      return static_cast<char>(at < 26 ? 'a' + at : 'A' + at - 26);
    };
    std::vector<ValueId> inputs;
    for (const Operand& operand : operands) {
      if (!inputs.empty()) names += ',';
      for (int label : operand.labels) names += name(label);
      inputs.push_back(operand.value);
    }
    names += "->";
    for (int label : result) names += name(label);
    return b_.node(op_Einsum, inputs, {{"equation", names}});
  }

  const Dim& extent(const Operand& operand, int label) const {
    const auto at = std::find(operand.labels.begin(), operand.labels.end(), label) - operand.labels.begin();
    return (*graph_.value(operand.value).shape)[static_cast<size_t>(at)];
  }

  bool find_roles() {
    if (has_repeats(left_.labels) || has_repeats(right_.labels) || has_repeats(result_)) return false;
    for (int label : result_) {
      const bool in_left = contains(left_.labels, label), in_right = contains(right_.labels, label);
      (in_left && in_right ? roles_.batch : in_left ? roles_.rows : roles_.columns).push_back(label);
    }
    for (const Operand* operand : {&left_, &right_})
      for (int label : operand->labels) {
        if (contains(result_, label) || contains(roles_.depth, label)) continue;
        if (!contains(left_.labels, label) || !contains(right_.labels, label)) return false;  // sums one operand only
        if (extent(left_, label).is(1) != extent(right_, label).is(1)) return false;          // it broadcasts
        roles_.depth.push_back(label);
      }
    return !roles_.depth.empty();
  }

  /// The operand as [batch..., other labels of rows, other labels of columns, `last`, depth]. A missing label has
  /// extent 1.
  ValueId arranged(const Operand& operand, const Labels& outer, std::optional<int> last) {
    Labels present;
    for (int label : outer)
      if (contains(operand.labels, label)) present.push_back(label);
    if (last) present.push_back(*last);
    const auto kept = static_cast<int64_t>(present.size());
    present.insert(present.end(), roles_.depth.begin(), roles_.depth.end());
    ValueId x = transposed(operand.value, operand.labels, present);
    if (roles_.depth.size() > 1) {
      std::vector<int64_t> shape(static_cast<size_t>(kept), 0);  // 0: unchanged
      shape.push_back(-1);
      x = b_.node("Reshape", {x, b_.ints(shape)});
    }
    std::vector<int64_t> missing;
    for (size_t i = 0; i < outer.size(); ++i)
      if (!contains(operand.labels, outer[i])) missing.push_back(static_cast<int64_t>(i));
    if (!last) missing.push_back(static_cast<int64_t>(outer.size()));
    return missing.empty() ? x : b_.node("Unsqueeze", {x, b_.ints(missing)});
  }

  ValueId transposed(ValueId x, const Labels& from, const Labels& to) {
    std::vector<int64_t> permutation;
    for (int label : to) permutation.push_back(std::find(from.begin(), from.end(), label) - from.begin());
    return b_.transpose(x, permutation);
  }

  static std::optional<int> take_last(Labels& labels) {
    if (labels.empty()) return {};
    const int last = labels.back();
    labels.pop_back();
    return last;
  }

  void write() {
    const std::optional<int> row = take_last(roles_.rows), column = take_last(roles_.columns);
    Labels outer = roles_.batch;
    outer.insert(outer.end(), roles_.rows.begin(), roles_.rows.end());
    outer.insert(outer.end(), roles_.columns.begin(), roles_.columns.end());
    const auto rank = static_cast<int64_t>(outer.size()) + 2;
    std::vector<int64_t> swapped;
    for (int64_t d = 0; d < rank; ++d) swapped.push_back(d < rank - 2 ? d : 2 * rank - 3 - d);
    const ValueId left = arranged(left_, outer, row), right = b_.transpose(arranged(right_, outer, column), swapped);
    ValueId y = b_.node("MatMul", {left, right});
    std::vector<int64_t> ones;
    if (!row) ones.push_back(rank - 2);
    if (!column) ones.push_back(rank - 1);
    if (!ones.empty()) y = b_.node("Squeeze", {y, b_.ints(ones)});
    if (row) outer.push_back(*row);
    if (column) outer.push_back(*column);
    b_.replace(graph_.node(id_).outputs[0], transposed(y, outer, result_));
    graph_.erase_node(id_);
  }

  Graph& graph_;
  NodeId id_;
  NodeBuilder b_;
  Operand left_, right_;
  Labels result_;
  Roles roles_;
};

}  // namespace

bool expand_einsum(Graph& graph) {
  bool changed = false;
  while (expand_some(graph, op_Einsum, [](Graph& g, NodeId id) { return EinsumWriter(g, id).run(); })) changed = true;
  return changed;
}

}  // namespace gcg
