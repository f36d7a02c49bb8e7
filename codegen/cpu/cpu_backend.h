// The CPU code generator behind compiler/kernel/backend.h.
#pragma once

#include <memory>

#include "compiler/kernel/backend.h"

namespace gcg::cpu {

/// A backend for the targets x86-64-v3 (AVX2), x86-64-v4 (AVX-512) and aarch64 (NEON), on any host.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace gcg::cpu
