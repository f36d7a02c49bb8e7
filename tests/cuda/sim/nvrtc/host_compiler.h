// Compiles a CUDA kernel's text with the host's C++ compiler into a shared object: the simulation's "cubin".
#ifndef GART_TESTS_CUDA_SIM_NVRTC_HOST_COMPILER_H
#define GART_TESTS_CUDA_SIM_NVRTC_HOST_COMPILER_H

#include <string>
#include <utility>
#include <vector>

namespace gart_sim {

struct Architecture {
  int sm = 0;               // 80 for sm_80, compute_80, sm_80a.
  char variant = 0;         // 'a', 'f' or 0.
  bool is_virtual = false;  // compute_XX: the result is PTX
  bool contracts = true;    // contracts products and sums to fma
  int toolkit = 13;         // major version of NVRTC
};

// A kernel, from `extern "C" __global__ void __launch_bounds__(BOUNDS) [__cluster_dims__(CLUSTER, 1, 1)] NAME(` in the
// text.
struct KernelText {
  std::string name, bounds, cluster;
};
std::vector<KernelText> find_kernels(const std::string& text);

struct SourceText {
  std::string name, text;
  std::vector<std::pair<std::string, std::string>> headers;  // Name, text.
};

struct Compiled {
  std::string module;  // the shared object; empty if compilation failed
  std::string log;     // the compiler's messages, or ptxas's notes on each kernel
};

// $GART_SIM_CXX names another compiler. $GART_SIM_WATCH=0 does not watch loads and stores (faster, but finds no races
// or bounds). $GART_SIM_KEEP=DIR keeps the composed text in DIR.
Compiled compile_for_host(const SourceText& source, const Architecture& architecture);

}  // namespace gart_sim
#endif
