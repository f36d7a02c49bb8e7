// Compiles one kernel from its description to object code.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/backend.h"

namespace gcg::cpu {

class SharedCodeTicket;

inline constexpr const char* kEntryName = "kernel";

struct KernelObject {
  std::vector<char> object;  // ELF, defines kEntryName
  CompiledKernel info;       // complete except for offset and size
};

/// The result is deterministic, and several threads may call this. A function that kernels of the target share is in
/// the object of the first of these kernels, in the order of tickets. Without a ticket, each object has its own copy.
KernelObject compile_kernel(const Kernel& kernel, const CpuTarget& target, const std::vector<std::string>& imports,
                            SharedCodeTicket* ticket = nullptr);

/// The same as assembly text, for tests and reading.
std::string kernel_assembly(const Kernel& kernel, const CpuTarget& target);
/// The emitted IR before LLVM's passes.
std::string kernel_ir(const Kernel& kernel, const CpuTarget& target);

}  // namespace gcg::cpu
