#include "tools/gcc-graph/options/gpu_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// The folder, created if it does not exist.
std::filesystem::path usable_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || access(path.c_str(), W_OK) != 0)
    fail("--cache ", path, ": ", error ? error.message() : "the folder cannot be written");
  return path;
}

std::string checked_precision(const std::string& text) {
  for (const char* known : {"fp32", "tf32", "fp16", "bf16"})
    if (text == known) return text;
  fail("--precision: '", text, "' is not a precision; expected fp32, tf32, fp16 or bf16");
}

}  // namespace

void GpuOptions::add_to(CLI::App& c) {
  c.add_option("--cache", cache, "Folder that keeps assembled GPU kernels (default: gcc-graph in the user's cache)");
  c.add_option_function<std::string>(
       "--precision", [this](const std::string& text) { precision = checked_precision(text); },
       "Precision of the factors of matrix products on GPUs, and of the weights that CPUs store: fp32, tf32, fp16, "
       "bf16 (sums are fp32)")
      ->default_str("fp32");
  c.add_option(
       "--libraries", libraries,
       "Libraries that GPUs use: none; auto (cublasLt and cudnn, or our own kernels where they are not installed; "
       "none on Jetsons); or a list of those that machines must have (cublasLt,cudnn)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
}

void GpuOptions::check() const {
  check_unique(libraries, "--libraries");
  for (const char* word : {"none", "auto"})
    if (libraries.size() > 1 && std::find(libraries.begin(), libraries.end(), word) != libraries.end())
      fail("--libraries: '", word, "' stands alone");
}

void GpuOptions::apply(gcc_graph::CompileOptions& options) const {
  check();
  options.precision = precision;
  options.libraries = libraries;
  if (!cache.empty()) options.cache = usable_folder(cache);
}

}  // namespace gcg::tools
