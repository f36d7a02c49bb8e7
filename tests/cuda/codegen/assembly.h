// Models compiled for GPUs by a backend that looks at what the assembler says about each kernel.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/kernel/backend.h"

namespace gcg::test {

/// Is NVRTC on this machine? If not, tests of assembly are skipped.
bool has_nvrtc();
inline constexpr const char* kInstallLine = "pip install nvidia-cuda-nvrtc installs it";
/// Where tests keep what was assembled before: $GCC_GRAPH_TEST_CACHE, or a folder of the build.
std::string default_cache();

/// What the assembler made of the kernels of one compilation.
struct AssemblyReport {
  int kernels = 0;
  int most_registers = 0;
  double seconds = 0;                   // of code generation for the target
  std::vector<std::string> complaints;  // kernels that spill, or of which ptxas says that wgmma or setmaxnreg suffered
};

/// The CUDA backend; every compilation of it adds to `report`. With `print`, kernels' texts are written there first.
std::unique_ptr<Backend> make_watched_backend(AssemblyReport& report, const std::string& cache, std::ostream* print);

}  // namespace gcg::test
