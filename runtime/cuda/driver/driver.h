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
  int version = 0;  // as cuDriverGetVersion returns it: 12060 for CUDA 12.6
};

inline constexpr int kOldestDriver = 12030;  // the first driver with cuGraphAddNode_v2, which makes graph nodes

/// The process's driver, initialised. Fails if there is no driver, if it is too old, or if it finds no device. The
/// library stays open until the process ends, because the driver's own threads do not end earlier.
Result<const Driver*> open_driver();

/// "12.6" for 12060.
std::string version_text(int version);

/// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"
std::string result_text(const Driver& driver, CUresult result);

/// True for errors after which every further call in the context fails the same way and its memory is lost.
bool is_sticky(CUresult result);

}  // namespace gart::cuda
