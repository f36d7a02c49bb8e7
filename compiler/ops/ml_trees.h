// A tree ensemble as the operators of ai.onnx.ml describe it, in one form.
#pragma once

#include "compiler/ops/ml.h"

namespace gcg {

/// A node of a tree that is being read. Inner: `x[feature] <= split` (or NaN, with nan_left) goes to `left`.
struct TreeNode {
  bool leaf = false;
  bool nan_left = false;
  int64_t feature = 0;
  double split = 0;
  int64_t left = -1, right = -1;                  // positions in TreeEnsembleForm::nodes
  std::vector<std::pair<int64_t, double>> votes;  // a leaf's: (target, weight)
};

struct TreeEnsembleForm {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  int64_t targets = 1;
};

/// TreeEnsembleClassifier and -Regressor, whose votes are attributes that begin with `votes`: "class", "target".
TreeEnsembleForm read_old_ensemble(Expansion& x, const std::string& votes, int64_t targets);
/// TreeEnsemble.
TreeEnsembleForm read_ensemble(Expansion& x);

/// Of each row and target the votes of the leaves it comes to, put together by "SUM", "AVERAGE", "MIN" or "MAX": [N,
/// targets].
ValueId tree_scores(Expansion& x, const TreeEnsembleForm& form, const std::string& aggregate);

}  // namespace gcg
