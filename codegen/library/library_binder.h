// Finds the kernels that NVIDIA's libraries can run: matrix products (cuBLASLt), convolutions and attention (cuDNN).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/kernel/library_call.h"

namespace gcg::library {

/// The names that make_library_binder takes.
std::vector<std::string> known_libraries();

/// A binder to these libraries. Throws CompileError that names an unknown library.
std::unique_ptr<LibraryBinder> make_library_binder(const std::vector<std::string>& names);

}  // namespace gcg::library
