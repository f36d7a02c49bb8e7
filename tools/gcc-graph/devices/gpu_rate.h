// How fast a GPU computes, measured.
#pragma once

#include <string>

namespace gart::cuda {
struct Driver;
}

namespace gcg::tools {

/// GFLOP/s of f32 multiply-adds on all multiprocessors together, by a kernel for `target`; 0: no code is known for the
/// GPU. Throws CompileError where there is nothing that assembles it, gart::Failure where it does not run.
double gpu_rate(int ordinal, const std::string& target, const gart::cuda::Driver& driver);

}  // namespace gcg::tools
