// The kernel that decides a graph's branches and loops on the device.
#pragma once

namespace gcg::cuda {

/// A program with the function kConditionalKernelSymbol, as artifact_schema/kernel_abi.h describes it.
extern const char* const kConditionalKernelText;
inline constexpr const char* kConditionalKernelSymbol = "gart_set_conditionals";

}  // namespace gcg::cuda
