// The interface between the compiler and its code generators. compiler/ knows only this; tools/ hands the backends in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Machine code of a list of kernels for one target, as one position-independent, read-only blob. All CPU kernels have the
/// signature of artifact_schema/kernel_abi.h. Symbolic extents are run-time parameters: a kernel reads params[i], where
/// `params[i]` below says which expression the runtime has to put there.
struct CompiledKernel {
  uint64_t offset = 0;             // of the entry point in the blob
  uint64_t size = 0;               // bytes, for reports
  std::vector<Dim> params;         // run-time parameters, in the kernel's own symbols
  Dim tasks;                       // independent tasks for these extents; 1 at least when there is work
  Dim scratch_bytes;               // per thread, 64-byte aligned
  std::string note;                // "9x48 panels, 2 row heights", for inspect --kernels
};

struct CompiledBlob {
  std::vector<uint8_t> code;
  std::vector<std::string> imports;      // allow-listed functions, in the order of args->imports
  std::vector<CompiledKernel> kernels;   // one per kernel given
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceClass device() const = 0;
  /// Compiles distinct kernels (the caller has removed equal ones). Deterministic: the same kernels give the same bytes,
  /// whatever `threads` (how many host threads it may use). Throws CompileError naming the kernel's source node.
  virtual CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const = 0;
};

}  // namespace gcg
