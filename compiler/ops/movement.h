// Helpers for operators that only move elements.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/op_def.h"
#include "compiler/ops/op_support.h"

namespace gcg {

/// The elements of an integer value of rank 0 or 1, constant or symbolic; nullopt if they depend on data.
std::optional<std::vector<Dim>> known_dims(const Value& value);
/// Attribute of a one-dimensional Slice with step 1: the maximum length of its result.
inline constexpr const char* kMostSliced = "gart.most";

/// Axes as a list of numbers: the elements of integer input `i` or, if it is absent, 0, 1, ... `count` - 1. Fails if
/// they are not constant.
std::vector<int64_t> axes_or_leading(const InferContext& ctx, int i, size_t count, int64_t rank);

/// An index from input 1 into `size` elements: negative ones count from the end. Constant indices are checked here, so
/// kernels need no check for valid ones.
Expr element_index(LowerContext& ctx, const Expr& i, const Dim& size);

// ---- reference

/// The index for the reference: wrapped, or a failure that names the index.
int64_t checked_element(const ReferenceContext& ctx, int64_t i, int64_t extent);

/// Row-major position of `at` in `shape`.
int64_t position(const std::vector<int64_t>& at, const std::vector<int64_t>& shape);
/// to[i] = from[j]; both have the same dtype.
void copy_element(Tensor& to, int64_t i, const Tensor& from, int64_t j);
/// A tensor of `shape` whose element at index `at` is x[source(at)].
template <class Source>
Tensor rearranged(const Tensor& x, const std::vector<int64_t>& shape, Source source) {
  Tensor y(x.dtype(), shape);
  int64_t i = 0;
  for_each_index(shape,
                 [&](const std::vector<int64_t>& at) { copy_element(y, i++, x, position(source(at), x.shape())); });
  return y;
}

}  // namespace gcg
