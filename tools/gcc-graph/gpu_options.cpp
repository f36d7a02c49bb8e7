#include "tools/gcc-graph/gpu_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "codegen/cuda/cuda_backend.h"
#include "compiler/support/error.h"

namespace gcg::tools {
namespace {

/// The folder, made if it is not there.
std::filesystem::path usable_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || access(path.c_str(), W_OK) != 0)
    fail("--cache ", path, ": ", error ? error.message() : "the folder cannot be written");
  return path;
}

}  // namespace

void GpuOptions::add_to(CLI::App& c) {
  c.add_option("--cache", cache, "Folder of GPU kernels assembled before (default: gcc-graph in the user's cache)");
  const std::map<std::string, Precision> precisions = {
      {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16}, {"bf16", Precision::bf16}};
  c.add_option("--precision", precision, "Of the factors of matrix products on GPUs (sums are fp32): fp32, tf32, fp16, bf16")
      ->transform(CLI::CheckedTransformer(precisions))
      ->default_str("fp32");
}

std::unique_ptr<Backend> GpuOptions::backend() const {
  return cache.empty() ? cuda::make_cuda_backend() : cuda::make_cuda_backend(usable_folder(cache));
}

}  // namespace gcg::tools
