// A common form of the tree ensembles that the ai.onnx.ml operators describe.
#pragma once

#include "compiler/ops/ml.h"

namespace gcg {

/// A node of a tree that is being read. Inner nodes go to `left` if `x[feature] <= split` (or if NaN, with nan_left).
struct TreeNode {
  bool leaf = false;
  bool nan_left = false;
  int64_t feature = 0;
  double split = 0;
  int64_t left = -1, right = -1;                  // positions in TreeEnsembleParams::nodes
  std::vector<std::pair<int64_t, double>> votes;  // for a leaf: (target, weight)
};

struct TreeEnsembleParams {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  int64_t targets = 1;
};

/// Reads TreeEnsembleClassifier and -Regressor. The names of their vote attributes begin with `votes`: "class",
/// "target".
TreeEnsembleParams read_old_ensemble(Expansion& x, const std::string& votes, int64_t targets);
/// Reads TreeEnsemble.
TreeEnsembleParams read_ensemble(Expansion& x);

/// Combines, per row and target, the votes of the reached leaves by "SUM", "AVERAGE", "MIN" or "MAX": [N, targets].
ValueId tree_scores(Expansion& x, const TreeEnsembleParams& params, const std::string& aggregate);

}  // namespace gcg
