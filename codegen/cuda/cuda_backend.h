// The GPU code generator behind compiler/kernel/backend.h.
#pragma once

#include <filesystem>
#include <memory>

#include "codegen/cuda/assembler/cubin_cache.h"
#include "compiler/kernel/backend.h"

namespace gcg::cuda {

/// For the targets sm_XX and ptx, without a GPU: each kernel is a program of its own that NVRTC assembles. `cache`: the
/// folder that keeps what was assembled before; empty for none. NVRTC is looked for when a kernel is compiled.
std::unique_ptr<Backend> make_cuda_backend(std::filesystem::path cache = CubinCache::default_folder());

}  // namespace gcg::cuda
