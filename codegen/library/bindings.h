// The bindings of the single libraries. Only for codegen/library.
#pragma once

#include "compiler/kernel/library_call.h"

namespace gcg::library {

/// nullopt: the kernel is not of the kind, or is more than the library can do.
std::optional<LibraryCall> bind_matmul(const Kernel& kernel);       // cublasLt
std::optional<LibraryCall> bind_convolution(const Kernel& kernel);  // cudnn
std::optional<LibraryCall> bind_attention(const Kernel& kernel);    // cudnn

}  // namespace gcg::library
