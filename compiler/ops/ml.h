// The operators of ai.onnx.ml (linear models, support vectors, trees, preprocessing) as expansions into tensor
// operators.
//
// A string label is represented by its index in the node's list of labels. For outputs of the model, the importer keeps
// the list (compiler/import/labels.h).
#pragma once

#include "compiler/ops/expansion.h"

namespace gcg {

constexpr ExpandedOp ml(const char* name, int since, int min_inputs, int max_inputs, DeclaredTypes types, Expand expand,
                        int max_outputs = 1) {
  return expanded(name, "ai.onnx.ml", since, min_inputs, max_inputs, types, expand, max_outputs);
}

/// Input i as rows of features [N, F]; a vector is one row.
ValueId rows_of(Expansion& x, size_t i);
/// f64 for doubles, else f32.
DType feature_type(Expansion& x, size_t i);
/// The floats of an attribute, or those of the tensor attribute `NAME_as_tensor` if the model has that instead.
std::vector<double> doubles_attribute(const Expansion& x, const char* name);
/// Applies attribute `post_transform` ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO" or "PROBIT") to each row of
/// scores.
ValueId transformed(Expansion& x, ValueId scores, const std::string& kind);
std::string post_transform(const Expansion& x);

/// The class labels of a classifier, from attribute classlabels_ints or classlabels_int64s. Strings are their indices.
class ClassLabels {
 public:
  ClassLabels(Expansion& x, const char* ints);
  int64_t count() const { return count_; }
  /// The label of each class number (i64).
  ValueId of(ValueId numbers) const;

 private:
  Expansion& x_;
  std::vector<int64_t> ints_;
  int64_t count_ = 0;
};

/// A constant matrix of `dtype`, row-major.
ValueId matrix(Expansion& x, DType dtype, int64_t rows, int64_t columns, const std::vector<double>& values);
/// The class with the greatest score in each row. If scores are equal, the first class wins.
ValueId best_class(Expansion& x, ValueId scores);
/// Turns one score s per row (class 1 against class 0) into [negative(s), s].
ValueId two_scores(Expansion& x, ValueId negative, ValueId positive);

}  // namespace gcg
