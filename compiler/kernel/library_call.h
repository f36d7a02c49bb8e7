// Library calls that replace a kernel's own code. The libraries are those of the machine that runs the artifact.
// compiler/ knows only this interface; tools/ passes the binder in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

enum class LibraryOperation : uint8_t { matmul, convolution, attention };
enum class LibraryActivation : uint8_t { none, relu, gelu_tanh };

/// A tensor of the call as a view of a kernel operand. Offset, extents and strides are in elements.
struct LibraryTensor {
  int operand = -1;
  Dim offset;
  std::vector<Dim> extents, strides;
  DType dtype = DType::f32;
  /// The operand must be a constant, and the library reads it in another form. `untransposed`: the library reads the
  /// source of the Transpose that made it; `extents` and `strides` describe this source. `rounded`: the library reads
  /// its elements rounded to `dtype`.
  bool untransposed = false, rounded = false;
  bool is_other_form() const { return untransposed || rounded; }
};

/// For the operands and the computation see artifact_schema/gart.fbs, Operation.
struct LibraryCall {
  std::string library;             // "cublasLt", "cudnn"
  uint32_t oldest = 0, below = 0;  // the usable versions, from `oldest` to below `below`, as the library reports them
  int least_sm = 0;                // Target::sm of the oldest GPUs that the library supports
  LibraryOperation operation{};
  std::vector<LibraryTensor> tensors = {};
  bool bias = false, addend = false;
  LibraryActivation activation = LibraryActivation::none;
  double scale = 1;
  bool causal = false;  // attention
  // Convolution: one entry per spatial axis; pads: before the first element.
  std::vector<int64_t> strides = {}, dilations = {}, pads = {};
  int64_t groups = 1;
  int64_t workspace = 0;  // the most bytes that the call may use

  /// The tensor that the call writes.
  size_t result() const { return operation == LibraryOperation::attention ? 3 : 2; }
};

/// The operations that a library supports.
struct LibraryScope {
  std::string library;
  std::vector<LibraryOperation> operations;
};

class LibraryBinder {
 public:
  virtual ~LibraryBinder() = default;
  /// The libraries that the binder can use, for messages.
  virtual std::vector<LibraryScope> scopes() const { return {}; }
  /// The call that does the kernel's whole work; nullopt if no library supports such a call.
  virtual std::optional<LibraryCall> bind(const Kernel& kernel) const = 0;
};

}  // namespace gcg
