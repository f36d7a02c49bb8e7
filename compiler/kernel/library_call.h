// Calls of libraries of the machine that runs the artifact, in place of a kernel's own code. compiler/ knows only this;
// tools/ hands the binder in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

enum class LibraryOperation : uint8_t { matmul, convolution, attention };
enum class LibraryActivation : uint8_t { none, relu, gelu_tanh };

/// How an operand of the kernel is a tensor of the call. In elements.
struct LibraryTensor {
  int operand = -1;
  Dim offset;
  std::vector<Dim> extents, strides;
  DType dtype = DType::f32;
  /// The operand must be a constant, of which the library reads another form: what a Transpose made it from, which is
  /// what `extents` and `strides` describe then, or its elements rounded to `dtype`.
  bool untransposed = false, rounded = false;
  bool is_other_form() const { return untransposed || rounded; }
};

/// What operands there are and what is computed: artifact_schema/gart.fbs, Operation.
struct LibraryCall {
  std::string library;             // "cublasLt", "cudnn"
  uint32_t oldest = 0, below = 0;  // its versions that do, as the library says them
  int least_sm = 0;                // GPUs that it does, Target::sm
  LibraryOperation operation{};
  std::vector<LibraryTensor> tensors = {};
  bool bias = false, addend = false;
  LibraryActivation activation = LibraryActivation::none;
  double scale = 1;
  bool causal = false;                                           // attention
  std::vector<int64_t> strides = {}, dilations = {}, pads = {};  // convolution, per spatial axis; pads before
  int64_t groups = 1;
  int64_t workspace = 0;  // the most bytes it may use

  /// The tensor that it writes.
  size_t result() const { return operation == LibraryOperation::attention ? 3 : 2; }
};

/// What a library is for.
struct LibraryScope {
  std::string library;
  std::vector<LibraryOperation> operations;
};

class LibraryBinder {
 public:
  virtual ~LibraryBinder() = default;
  /// The libraries that it binds, for messages.
  virtual std::vector<LibraryScope> scopes() const { return {}; }
  /// The call that does all of what the kernel does; none if no library can.
  virtual std::optional<LibraryCall> bind(const Kernel& kernel) const = 0;
};

}  // namespace gcg
