// Finds the original of a constant that was made by reordering, padding or rounding elements.
#pragma once

#include <map>

#include "compiler/ir/tensor.h"

namespace gcg {

/// Equal for constants that are the same_elements (compiler/ir/deferred.h). Deferred constants are not computed.
size_t hash_of_elements(const Tensor& tensor);

/// The tensor before any rearrangement of its elements or shape.
TensorRef source_of_all(const TensorRef& tensor);

class ConstantRoots {
 public:
  /// Like source_of_all, but all sources with the same type and bytes, in any shape, have one representative, which is
  /// returned.
  TensorRef of(const TensorRef& tensor);

 private:
  std::map<TensorRef, TensorRef> known_;  // by sources
  std::multimap<size_t, TensorRef> by_hash_;
};

}  // namespace gcg
