// The layout of call steps: the number of operands of an operation, and the number of integers that describe them.
#pragma once

#include <cstddef>

#include "artifact_schema/spans.h"

namespace gart {

inline constexpr size_t kMaxSpatialAxes = 3;

/// The operand that the call writes.
inline size_t call_result(const fb::Call& call) { return call.operation() == fb::Operation::attention ? 3 : 2; }

inline size_t call_operands(const fb::Call& call) {
  return call_result(call) + 1 + (call.bias() ? 1 : 0) + (call.addend() ? 1 : 0);
}

/// The rank of operand `index`.
inline size_t call_rank(const fb::Call& call, size_t index) {
  if (call.bias() && index == call_result(call) + 1) return 1;
  if (call.operation() == fb::Operation::matmul) return 3;
  return call.operation() == fb::Operation::attention ? 4 : 2 + size_t{count_of(call.strides())};
}

/// True if this many numbers may identify an algorithm. A cublasLtMatmulAlgo_t has eight; a cuDNN engine has its index
/// and two numbers per knob.
inline bool is_algorithm_size(const fb::Call& call, size_t numbers) {
  constexpr size_t kOfCublasLt = 8, kMostKnobs = 64;
  if (call.operation() == fb::Operation::matmul) return numbers == kOfCublasLt;
  return numbers % 2 == 1 && numbers <= 1 + 2 * kMostKnobs;
}

/// The numbers of a tensor: offset, extents and strides.
inline size_t call_params(size_t rank) { return 1 + 2 * rank; }

}  // namespace gart
