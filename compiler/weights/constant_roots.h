// What constants were made from by putting elements in another order, padding and rounding.
#pragma once

#include <map>

#include "compiler/ir/tensor.h"

namespace gcg {

bool same_bytes(const Tensor& a, const Tensor& b);
size_t hash_of_bytes(const Tensor& tensor);

/// Elements and shape before anybody rearranged them.
TensorRef source_of_all(const TensorRef& tensor);

class ConstantRoots {
 public:
  /// As source_of_all, and of sources that have the same type and bytes, whatever their shapes, one that stands for
  /// all.
  TensorRef of(const TensorRef& tensor);

 private:
  std::map<TensorRef, TensorRef> known_;  // by sources
  std::multimap<size_t, TensorRef> by_hash_;
};

}  // namespace gcg
