// Finds the original of a constant that was made by reordering, padding or rounding elements.
#pragma once

#include <map>

#include "compiler/ir/tensor.h"

namespace gcg {

bool same_bytes(const Tensor& a, const Tensor& b);
size_t hash_of_bytes(const Tensor& tensor);

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
