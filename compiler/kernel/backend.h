// The interface between the compiler and its code generators. compiler/ knows only this interface; tools/ passes the
// backends in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artifact_schema/kernel_note.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// CUDA: a tensor in an operand. The GPU copies boxes of it to shared memory, or stores boxes from there
/// (artifact_schema/gart.fbs, TensorMap). All numbers are in elements. Dimension 0 is contiguous; `strides` are those
/// of the other dimensions.
struct TensorMap {
  enum class Kind { tiled, im2col };
  int operand = -1;
  DType dtype = DType::f16;  // gives the element size; elements are copied bit by bit
  Dim offset;
  std::vector<Dim> extents, strides;
  std::vector<int> box;         // im2col: channels per pixel, then ones
  int swizzle = 128;            // line length in bytes within which 16-byte chunks are permuted: 128, 64, 32; 0: none
  std::vector<int> steps = {};  // distance of a box's elements, per dimension; empty: 1 in all dimensions
  Kind kind = Kind::tiled;
  // im2col: the tensor's dimensions are channels, columns, rows, images. Along columns and rows, the window's corner
  // runs from `lower` to extent + `upper` - 1.
  std::vector<int> lower = {}, upper = {};
  int pixels = 0;  // im2col: pixels per box
};

/// Machine code of a list of kernels for one target, as one position-independent, read-only blob. Kernels are called as
/// artifact_schema/kernel_abi.h says. Symbolic extents are run-time parameters: a kernel reads params[i], where
/// `params[i]` below says which expression the runtime has to put there.
struct CompiledKernel {
  uint64_t offset = 0;      // entry point in the blob; CUDA: its module, a multiple of 64
  uint64_t size = 0;        // bytes
  std::vector<Dim> params;  // run-time parameters, in the kernel's own symbols
  Dim tasks;                // independent tasks for these extents, at least 1 if there is work; CUDA: blocks
  Dim scratch_bytes;        // per thread, 64-byte aligned; CUDA: workspace per launch, 256-byte aligned
  std::string note;         // "9x48 panels, 2 row heights", for inspect --kernels
  gart::KernelTypes types;  // of its arithmetic, for inspect --precision
  // CUDA:
  std::string symbol;           // the function's name in its module
  int threads = 0;              // per block
  int64_t shared_bytes = 0;     // dynamic shared memory per block
  bool may_fail = false;        // the kernel reports indices out of range
  std::vector<TensorMap> maps;  // parameters after all others
  int cluster = 0;              // blocks per cluster, a divisor of tasks; 0: no clusters
  int then = -1;  // the blob's kernel to launch right after this one, on the same operands and workspace; -1: none
  int registers = 0, spill_bytes = 0;  // registers and spilled bytes per thread, for reports
  // The kernel may start before its predecessor ends, and waits before it touches data that others write.
  bool waits = false;
  std::vector<int> ahead;   // constant operands that the kernel reads before it waits
  int64_t ahead_bytes = 0;  // bytes of `ahead` that a block reads
};

struct CompiledBlob {
  std::vector<uint8_t> code;
  // Functions of the allow-list that kernels call, in the order of args->imports.
  std::vector<std::string> imports;
  int driver = 0;                                    // CUDA: the oldest driver that loads the modules (12060)
  std::vector<CompiledKernel> kernels;               // one per given kernel, then the kernels that `then` refers to
  std::optional<CompiledKernel> conditional_kernel;  // CUDA: decides branches and loops on the device (kernel_abi.h)
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceClass device() const = 0;
  /// Compiles distinct kernels (the caller has removed equal ones). Deterministic: the same kernels give the same bytes
  /// for any `threads`, the number of host threads that it may use. Throws CompileError naming the kernel's source
  /// node.
  virtual CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const = 0;
  /// The kernel as the assembler or LLVM's passes get it: LLVM IR, or CUDA C++ of all its launches. Equal on all
  /// machines. Empty if the backend has no text form.
  virtual std::string source(const Kernel&, const Target&) const { return {}; }
  /// For plans with branches or loops: adds CompiledBlob::conditional_kernel if devices can decide branches themselves.
  virtual void add_conditional_kernel(CompiledBlob&, const Target&) const {}
};

}  // namespace gcg
