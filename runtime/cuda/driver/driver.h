// The CUDA driver, opened when first needed.
#pragma once

#include <string>

#include "gart/result.h"
#include "runtime/cuda/driver/driver_api.h"

namespace gart::cuda {

struct DriverFunctions {
#define GART_CUDA_MEMBER(name, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  GART_CUDA_FUNCTIONS(GART_CUDA_MEMBER)
#undef GART_CUDA_MEMBER
};

struct Driver : DriverFunctions {
  int version = 0;  // as cuDriverGetVersion says it: 12060 for CUDA 12.6
};

inline constexpr int kOldestDriver = 12030;  // graph nodes are made by cuGraphAddNode_v2

/// The process's driver, initialised. Fails if there is none, if it is too old, or if it finds no device. Stays open to
/// the end of the process, as the driver's own threads do.
Result<const Driver*> open_driver();

/// "12.6" for 12060.
std::string version_text(int version);

/// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"
std::string result_text(const Driver& driver, CUresult result);

/// After one of these every further call in the context fails the same way, and what it held is gone.
bool is_sticky(CUresult result);

}  // namespace gart::cuda
