// ai.onnx.ml: tree ensembles, as gart.TreeLeaves and a sum over the trees.
#include "compiler/ops/ml_trees.h"

#include <algorithm>

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

/// The nodes of all trees, tree by tree and level by level, so that the children of a node are adjacent.
struct TreeTables {
  std::vector<int64_t>
      order;  // indices in TreeEnsembleParams::nodes; a leaf that several branches reach has several positions
  std::vector<int32_t> words, left, roots;
  std::vector<double> splits;
  bool nan_left = false;

  explicit TreeTables(const TreeEnsembleParams& params) {
    for (const int64_t root : params.roots) {
      roots.push_back(static_cast<int32_t>(order.size()));
      order.push_back(root);
      while (words.size() < order.size()) add(params.nodes[static_cast<size_t>(order[words.size()])]);
    }
  }

 private:
  void add(const TreeNode& node) {
    nan_left |= node.nan_left && !node.leaf;
    left.push_back(static_cast<int32_t>(node.leaf ? words.size() : order.size()));
    words.push_back(node.leaf ? 0 : static_cast<int32_t>(node.feature << 2 | (node.nan_left ? 2 : 0) | 1));
    splits.push_back(node.leaf ? 0 : node.split);
    if (!node.leaf) order.insert(order.end(), {node.left, node.right});
  }
};

ValueId table(Expansion& x, const std::vector<int32_t>& values, std::vector<int64_t> shape) {
  return x.constant(Tensor::from(DType::i32, std::move(shape), values));
}
ValueId table(Expansion& x, DType dtype, const std::vector<double>& values, std::vector<int64_t> shape) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, values[static_cast<size_t>(i)]);
  return x.constant(std::move(t));
}

/// The leaf of each row in each tree, [N, T].
ValueId leaves(Expansion& x, const TreeTables& tables) {
  const DType dtype = feature_type(x, 0);
  const auto count = static_cast<int64_t>(tables.words.size());
  const ValueId rows = x.cast(rows_of(x, 0), dtype), words = table(x, tables.words, {count}),
                left = table(x, tables.left, {count}), splits = table(x, dtype, tables.splits, {count});
  const ValueId roots = table(x, tables.roots, {static_cast<int64_t>(tables.roots.size())});
  return x.outputs(op_gart_TreeLeaves, {rows, roots, words, splits, left}, 1,
                   {{"nan_left", int64_t{tables.nan_left ? 1 : 0}}})[0];
}

/// By tree, the one target that all its leaves vote for. Empty if the leaves of some tree vote for several targets.
std::vector<int64_t> target_of_trees(const TreeEnsembleParams& params) {
  std::vector<int64_t> targets;
  for (const int64_t root : params.roots) {
    int64_t target = -1;
    for (std::vector<int64_t> stack = {root}; !stack.empty();) {
      const TreeNode& node = params.nodes[static_cast<size_t>(stack.back())];
      stack.pop_back();
      if (!node.leaf) stack.insert(stack.end(), {node.left, node.right});
      for (const auto& [voted, weight] : node.votes) {
        if (target >= 0 && voted != target) return {};
        target = voted;
      }
    }
    targets.push_back(std::max<int64_t>(target, 0));
  }
  return targets;
}

/// Sums votes [N, T, ..] over the trees in f64. Classes with equally many votes then get equal scores, whichever trees
/// voted for them, and the first one is chosen. A single tree needs no sum.
ValueId sum_of_trees(Expansion& x, DType dtype, size_t trees, ValueId votes,
                     std::map<std::string, Attribute> attributes) {
  if (trees == 1) return x.node("ReduceSum", {votes, x.ints({1})}, std::move(attributes));
  return x.cast(x.node("ReduceSum", {x.cast(votes, DType::f64), x.ints({1})}, std::move(attributes)), dtype);
}

/// Sums over trees that each vote for one target: multiplies their votes [N, T] by a matrix of zeros and ones.
ValueId sum_by_target(Expansion& x, DType dtype, ValueId votes, const std::vector<int64_t>& targets, int64_t count) {
  if (count == 1) return sum_of_trees(x, dtype, targets.size(), votes, {});
  std::vector<double> ones(targets.size() * static_cast<size_t>(count));
  for (size_t t = 0; t < targets.size(); ++t)
    ones[t * static_cast<size_t>(count) + static_cast<size_t>(targets[t])] = 1;
  return x.node("MatMul", {votes, matrix(x, dtype, static_cast<int64_t>(targets.size()), count, ones)});
}

}  // namespace

ValueId tree_scores(Expansion& x, const TreeEnsembleParams& params, const std::string& aggregate) {
  if (params.roots.empty()) x.fail("it has no trees");
  const TreeTables tables(params);
  const DType dtype = feature_type(x, 0);
  const bool sum = aggregate == "SUM" || aggregate == "AVERAGE";
  const auto count = static_cast<int64_t>(tables.words.size()), trees = static_cast<int64_t>(params.roots.size());
  const std::vector<int64_t> targets = sum || params.targets == 1 ? target_of_trees(params) : std::vector<int64_t>();
  const int64_t columns = targets.empty() ? params.targets : 1;
  std::vector<double> weights(static_cast<size_t>(count * columns));
  for (int64_t i = 0; i < count; ++i)
    for (const auto& [target, weight] : params.nodes[static_cast<size_t>(tables.order[static_cast<size_t>(i)])].votes)
      weights[static_cast<size_t>(i * columns + (columns == 1 ? 0 : target))] += weight;
  const ValueId place = leaves(x, tables);
  ValueId y;
  if (columns == 1) {
    const ValueId votes = x.node("Gather", {table(x, dtype, weights, {count}), place});
    if (sum)
      y = sum_by_target(x, dtype, votes, targets, params.targets);
    else
      y = x.node(aggregate == "MIN" ? "ReduceMin" : "ReduceMax", {votes, x.ints({1})});
  } else {
    const std::map<std::string, Attribute> flat = {{"keepdims", int64_t{0}}};
    const ValueId votes = x.node("Gather", {table(x, dtype, weights, {count, columns}), place});
    y = sum ? sum_of_trees(x, dtype, params.roots.size(), votes, flat)
            : x.node(aggregate == "MIN" ? "ReduceMin" : "ReduceMax", {votes, x.ints({1})}, flat);
  }
  return aggregate == "AVERAGE" ? x.multiply(y, x.scalar(dtype, 1.0 / static_cast<double>(trees))) : y;
}

namespace {

ValueId with_base(Expansion& x, ValueId scores, int64_t targets) {
  const std::vector<double> base = doubles_attribute(x, "base_values");
  if (base.empty()) return scores;
  return x.add(scores, matrix(x, feature_type(x, 0), 1, static_cast<int64_t>(base.size()) == 1 ? 1 : targets, base));
}

Results expand_regressor(Expansion& x) {
  const int64_t targets = x.node().int_attribute("n_targets", 1);
  const ValueId y =
      tree_scores(x, read_old_ensemble(x, "target", targets), x.node().string_attribute("aggregate_function", "SUM"));
  return {transformed(x, x.cast(with_base(x, y, targets), DType::f32), post_transform(x))};
}

Results expand_ensemble(Expansion& x) {
  static const char* const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static const char* const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t aggregate = x.node().int_attribute("aggregate_function", 1),
                transform = x.node().int_attribute("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    x.fail("aggregate_function or post_transform is not known");
  const ValueId y = tree_scores(x, read_ensemble(x), aggregates[aggregate]);
  return {x.cast(transformed(x, x.cast(y, DType::f32), transforms[transform]), feature_type(x, 0))};
}

/// All leaves vote for one of two classes. If every vote is positive, the sum is the probability of the second class.
Results two_classes(Expansion& x, const ClassLabels& labels, TreeEnsembleParams params) {
  bool positive = true;
  for (TreeNode& node : params.nodes)
    for (auto& [target, weight] : node.votes) {
      positive &= weight >= 0;
      target = 0;
    }
  params.targets = 1;
  ValueId s = tree_scores(x, params, "SUM");
  const std::vector<double> base = doubles_attribute(x, "base_values");
  if (!base.empty()) s = x.add(s, x.scalar(feature_type(x, 0), base.back()));
  s = x.cast(s, DType::f32);
  const ValueId second = x.node("Greater", {s, x.scalar(DType::f32, positive ? 0.5 : 0)});
  const ValueId label = labels.of(x.cast(x.node("Squeeze", {second, x.ints({1})}), DType::i64));
  if (post_transform(x) == "PROBIT") return {label, transformed(x, s, "PROBIT")};
  // Softmax of a single score has no meaning.
  const std::string kind = post_transform(x) == "LOGISTIC" ? "LOGISTIC" : "NONE";
  if (positive) {
    const ValueId p = transformed(x, s, kind);
    return {label, two_scores(x, x.subtract(x.scalar(DType::f32, 1), p), p)};
  }
  return {label, transformed(x, two_scores(x, x.node("Neg", {s}), s), kind)};
}

Results expand_classifier(Expansion& x) {
  const ClassLabels labels(x, "classlabels_int64s");
  TreeEnsembleParams params = read_old_ensemble(x, "class", labels.count());
  const std::vector<int64_t> voted = x.node().ints_attribute("class_ids");
  const bool one = std::adjacent_find(voted.begin(), voted.end(), std::not_equal_to<>()) == voted.end();
  if (labels.count() == 2 && one) return two_classes(x, labels, std::move(params));
  const ValueId scores = x.cast(with_base(x, tree_scores(x, params, "SUM"), labels.count()), DType::f32);
  return {labels.of(best_class(x, scores)), transformed(x, scores, post_transform(x))};
}

}  // namespace

constinit const ExpandedOp op_ml_TreeEnsemble =
    giving({Types::floats}, ml("TreeEnsemble", 5, 1, 1, {Types::floats}, expand_ensemble));
constinit const ExpandedOp op_ml_TreeEnsembleRegressor =
    giving({Types::floats}, ml("TreeEnsembleRegressor", 1, 1, 1, {Types::numbers}, expand_regressor));
constinit const ExpandedOp op_ml_TreeEnsembleClassifier =
    giving({Types::i64, Types::floats}, ml("TreeEnsembleClassifier", 1, 1, 1, {Types::numbers}, expand_classifier, 2));

}  // namespace gcg
