// The kernel that decides a graph's branches and loops on the device.
#pragma once

namespace gcg::cuda {

/// A program with the function kSteeringSymbol, as artifact_schema/kernel_abi.h describes it.
extern const char* const kSteeringText;
inline constexpr const char* kSteeringSymbol = "gart_steer";

}  // namespace gcg::cuda
