// Reads the attributes of tree ensembles into a TreeEnsembleParams.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "compiler/ops/ml_trees.h"
#include "compiler/ops/op_support.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;

enum class Mode : uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };

/// The largest number below `value`, in the type in which features are compared.
double before(double value, bool single) {
  constexpr double kLow = -std::numeric_limits<double>::infinity();
  return single ? static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(kLow)))
                : std::nextafter(value, kLow);
}

/// Rewrites the node at `id`, with any comparison, as a node with `<=`. Adds nodes if one is not enough.
class Comparison {
 public:
  Comparison(TreeEnsembleParams& params, bool single) : params_(params), single_(single) {}

  void set(int64_t id, Mode mode, double split, int64_t yes, int64_t no, bool nan_yes) {
    if (mode == Mode::lt || mode == Mode::gte) split = before(split, single_);
    if (mode == Mode::leq || mode == Mode::lt) return put(id, split, yes, no, nan_yes);
    if (mode == Mode::gt || mode == Mode::gte) return put(id, split, no, yes, !nan_yes);
    if (mode == Mode::neq) return equal(id, split, no, yes, false);  // NaN differs from every number
    equal(id, split, yes, no, nan_yes);
  }
  /// Tests whether x is a member of the set.
  void set_member(int64_t id, const std::vector<double>& members, int64_t yes, int64_t no, bool nan_yes) {
    for (size_t i = 0; i + 1 < members.size(); ++i) {
      const int64_t next = add(params_.nodes[static_cast<size_t>(id)].feature);
      equal(id, members[i], yes, next, false);
      id = next;
    }
    equal(id, members.empty() ? std::numeric_limits<double>::infinity() : members.back(), members.empty() ? no : yes,
          no, nan_yes);
  }

 private:
  int64_t add(int64_t feature) {
    params_.nodes.emplace_back().feature = feature;
    return static_cast<int64_t>(params_.nodes.size()) - 1;
  }
  void put(int64_t id, double split, int64_t left, int64_t right, bool nan_left) {
    TreeNode& node = params_.nodes[static_cast<size_t>(id)];
    node.split = split, node.left = left, node.right = right, node.nan_left = nan_left;
  }
  /// Tests x == value: first x <= value, then x > the largest number below it.
  void equal(int64_t id, double value, int64_t yes, int64_t no, bool nan_yes) {
    const int64_t second = add(params_.nodes[static_cast<size_t>(id)].feature);
    put(id, value, second, no, nan_yes);
    put(second, before(value, single_), no, yes, false);
  }

  TreeEnsembleParams& params_;
  bool single_;
};

Mode mode_of(Expansion& x, const std::string& name) {
  static const std::map<std::string, Mode> modes = {
      {"BRANCH_LEQ", Mode::leq}, {"BRANCH_LT", Mode::lt},   {"BRANCH_GTE", Mode::gte}, {"BRANCH_GT", Mode::gt},
      {"BRANCH_EQ", Mode::eq},   {"BRANCH_NEQ", Mode::neq}, {"LEAF", Mode::leaf}};
  const auto found = modes.find(name);
  if (found == modes.end()) x.fail(concat("a node's mode is '", name, "', which is not known"));
  return found->second;
}

template <class T>
const T& at(Expansion& x, const std::vector<T>& list, size_t i, const std::string& name) {
  if (i >= list.size()) x.fail(concat("attribute ", name, " has ", list.size(), " elements, it needs more than ", i));
  return list[i];
}

bool compares_singles(Expansion& x) { return feature_type(x, 0) == DType::f32; }

/// Checks that every path ends and that every branch leads to an existing node. If branches meet again, the nodes below
/// are copied.
void check_trees(Expansion& x, const TreeEnsembleParams& params) {
  constexpr int64_t kMostNodes = 1 << 22;
  int64_t visits = 0;
  std::vector<int64_t> stack(params.roots);
  const int64_t features =
      x.shape(0).back().is_constant() ? x.shape(0).back().constant() : std::numeric_limits<int32_t>::max() / 4;
  while (!stack.empty()) {
    const int64_t id = stack.back();
    stack.pop_back();
    if (id < 0 || id >= static_cast<int64_t>(params.nodes.size()))
      x.fail(concat("a branch leads to node ", id, ", which does not exist"));
    if (++visits > kMostNodes)
      x.fail(concat("its trees have more than ", kMostNodes, " nodes, or a branch leads back up"));
    const TreeNode& node = params.nodes[static_cast<size_t>(id)];
    if (node.leaf) continue;
    if (node.feature < 0 || node.feature >= features)
      x.fail(concat("node ", id, " asks for feature ", node.feature, " of ", features));
    stack.push_back(node.left);
    stack.push_back(node.right);
  }
}

}  // namespace

TreeEnsembleParams read_old_ensemble(Expansion& x, const std::string& votes, int64_t targets) {
  const Node& node = x.node();
  const Ints trees = node.ints_attribute("nodes_treeids"), ids = node.ints_attribute("nodes_nodeids"),
             features = node.ints_attribute("nodes_featureids"), yes = node.ints_attribute("nodes_truenodeids"),
             no = node.ints_attribute("nodes_falsenodeids"),
             nan = node.ints_attribute("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = node.strings_attribute("nodes_modes");
  const std::vector<double> splits = doubles_attribute(x, "nodes_values");
  TreeEnsembleParams params;
  params.targets = targets;
  params.nodes.resize(trees.size());
  std::map<std::pair<int64_t, int64_t>, int64_t> place;
  std::set<int64_t> known;  // numbers of the trees; the first node of each tree is its root
  for (size_t i = 0; i < trees.size(); ++i) {
    if (!place.emplace(std::pair(trees[i], at(x, ids, i, "nodes_nodeids")), static_cast<int64_t>(i)).second)
      x.fail(concat("node ", ids[i], " of tree ", trees[i], " is listed twice"));
    if (known.insert(trees[i]).second) params.roots.push_back(static_cast<int64_t>(i));
  }
  const auto find = [&](int64_t tree, int64_t id) {
    const auto found = place.find({tree, id});
    if (found == place.end()) x.fail(concat("tree ", tree, " has no node ", id));
    return found->second;
  };
  Comparison comparison(params, compares_singles(x));
  for (size_t i = 0; i < trees.size(); ++i) {
    const Mode mode = mode_of(x, at(x, modes, i, "nodes_modes"));
    TreeNode& to = params.nodes[i];
    to.leaf = mode == Mode::leaf;
    if (to.leaf) continue;
    to.feature = at(x, features, i, "nodes_featureids");
    comparison.set(static_cast<int64_t>(i), mode, at(x, splits, i, "nodes_values"),
                   find(trees[i], at(x, yes, i, "nodes_truenodeids")),
                   find(trees[i], at(x, no, i, "nodes_falsenodeids")), i < nan.size() && nan[i] != 0);
  }
  const Ints vote_trees = node.ints_attribute(votes + "_treeids"), vote_nodes = node.ints_attribute(votes + "_nodeids"),
             vote_targets = node.ints_attribute(votes + "_ids");
  const std::vector<double> weights = doubles_attribute(x, (votes + "_weights").c_str());
  for (size_t i = 0; i < vote_targets.size(); ++i) {
    if (vote_targets[i] < 0 || vote_targets[i] >= targets)
      x.fail(concat("a leaf votes for target ", vote_targets[i], " of ", targets));
    const int64_t leaf = find(at(x, vote_trees, i, votes + "_treeids"), at(x, vote_nodes, i, votes + "_nodeids"));
    auto& leaf_votes = params.nodes[static_cast<size_t>(leaf)].votes;
    // skl2onnx writes one weight per class if leaf indices are wanted; onnxruntime takes the first weight.
    if (targets == 1 && !leaf_votes.empty()) continue;
    leaf_votes.emplace_back(vote_targets[i], at(x, weights, i, votes + "_weights"));
  }
  check_trees(x, params);
  return params;
}

TreeEnsembleParams read_ensemble(Expansion& x) {
  const Node& node = x.node();
  const Ints features = node.ints_attribute("nodes_featureids"), yes = node.ints_attribute("nodes_truenodeids"),
             no = node.ints_attribute("nodes_falsenodeids"), yes_leaf = node.ints_attribute("nodes_trueleafs"),
             no_leaf = node.ints_attribute("nodes_falseleafs"),
             nan = node.ints_attribute("nodes_missing_value_tracks_true"),
             targets = node.ints_attribute("leaf_targetids");
  const TensorRef modes = node.tensor_attribute("nodes_modes"), splits = node.tensor_attribute("nodes_splits"),
                  weights = node.tensor_attribute("leaf_weights"), members = node.tensor_attribute("membership_values");
  const auto count = static_cast<int64_t>(features.size());
  if (!modes || !splits || !weights || modes->elements() < count || splits->elements() < count ||
      weights->elements() < static_cast<int64_t>(targets.size()))
    x.fail("nodes_modes, nodes_splits and leaf_weights must have an element for each node and leaf");
  TreeEnsembleParams params;
  params.targets = node.int_attribute("n_targets", 1);
  params.roots = node.ints_attribute("tree_roots");
  params.nodes.resize(features.size() + targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    TreeNode& leaf = params.nodes[features.size() + i];
    if (targets[i] < 0 || targets[i] >= params.targets)
      x.fail(concat("a leaf votes for target ", targets[i], " of ", params.targets));
    leaf.leaf = true;
    leaf.votes = {{targets[i], weights->at_double(static_cast<int64_t>(i))}};
  }
  Comparison comparison(params, compares_singles(x));
  int64_t member = 0;
  for (size_t i = 0; i < features.size(); ++i) {
    const int64_t on_yes =
        at(x, yes, i, "nodes_truenodeids") + (at(x, yes_leaf, i, "nodes_trueleafs") != 0 ? count : 0);
    const int64_t on_no = at(x, no, i, "nodes_falsenodeids") + (at(x, no_leaf, i, "nodes_falseleafs") != 0 ? count : 0);
    const auto id = static_cast<int64_t>(i);
    params.nodes[i].feature = features[i];
    const bool nan_yes = i < nan.size() && nan[i] != 0;
    const auto mode = static_cast<Mode>(modes->at_int(id));
    if (mode > Mode::member) x.fail(concat("a node's mode is ", modes->at_int(id), ", which is not known"));
    if (mode != Mode::member) {
      comparison.set(id, mode, splits->at_double(id), on_yes, on_no, nan_yes);
      continue;
    }
    std::vector<double> set;
    for (; members && member < members->elements() && !std::isnan(members->at_double(member)); ++member)
      set.push_back(members->at_double(member));
    ++member;  // a NaN separates two sets
    comparison.set_member(id, set, on_yes, on_no, nan_yes);
  }
  check_trees(x, params);
  return params;
}

}  // namespace gcg
