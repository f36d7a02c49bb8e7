// The operators of ai.onnx.ml (linear models, support vectors, trees, preprocessing) as expansions into tensor
// operators.
//
// A label that is a string is its number in the node's list of labels here; the importer remembers the list for outputs
// of the model (compiler/import/labels.h).
#pragma once

#include "compiler/ops/expansion.h"

namespace gcg {

constexpr ExpandedOp ml(const char* name, int since, int min_inputs, int max_inputs, DeclaredTypes types, Expand expand,
                        int max_outputs = 1) {
  return expanded(name, "ai.onnx.ml", since, min_inputs, max_inputs, types, expand, max_outputs);
}

/// Input i as rows of features [N, F]: a vector is one row.
ValueId rows_of(Expansion& x, size_t i);
/// f64 for doubles, f32 for all others.
DType feature_type(Expansion& x, size_t i);
/// The floats of an attribute, or of the tensor `NAME_as_tensor` that stands for it.
std::vector<double> doubles_attribute(const Expansion& x, const char* name);
/// Attribute `post_transform` ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO" or "PROBIT") applied to each row of
/// scores.
ValueId transformed(Expansion& x, ValueId scores, const std::string& kind);
std::string post_transform(const Expansion& x);

/// ClassLabels of a classifier, by attribute classlabels_ints or classlabels_int64s; strings are their numbers.
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
/// A class number per row of scores: the first of the greatest.
ValueId best_class(Expansion& x, ValueId scores);
/// Per row, one score s of class 1 against class 0 as [negative(s), s].
ValueId two_scores(Expansion& x, ValueId negative, ValueId positive);

}  // namespace gcg
