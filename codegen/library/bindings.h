// The binding of each library. Only for codegen/library.
#pragma once

#include "compiler/kernel/library_call.h"

namespace gcg::library {

/// nullopt: the kernel is of another kind, or the library cannot do it.
std::optional<LibraryCall> bind_matmul(const Kernel& kernel);       // cublasLt
std::optional<LibraryCall> bind_convolution(const Kernel& kernel);  // cudnn
std::optional<LibraryCall> bind_attention(const Kernel& kernel);    // cudnn

}  // namespace gcg::library
