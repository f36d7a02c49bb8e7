// The GPU code generator behind compiler/kernel/backend.h.
#pragma once

#include <filesystem>
#include <memory>

#include "codegen/cuda/assembler/cubin_cache.h"
#include "compiler/kernel/backend.h"

namespace gcg::cuda {

/// A backend for the targets sm_XX and ptx; it needs no GPU. NVRTC assembles each kernel as a program of its own; it is
/// searched for when the first kernel is compiled. `cache`: the folder of the disk cache; empty: no cache.
std::unique_ptr<Backend> make_cuda_backend(std::filesystem::path cache = CubinCache::default_folder());

}  // namespace gcg::cuda
