// Measures how fast a GPU computes.
#pragma once

#include <string>

namespace gart::cuda {
struct Driver;
}

namespace gcg::tools {

/// GFLOP/s of f32 multiply-adds on all multiprocessors together, by a kernel for `target`; 0: no code is known for the
/// GPU. Throws CompileError if no assembler is available, gart::Failure if the kernel does not run.
double gpu_rate(int ordinal, const std::string& target, const gart::cuda::Driver& driver);

}  // namespace gcg::tools
