// Our declarations of the CUDA driver's ABI against those of a real cuda.h.
#include "runtime/cuda/driver/driver_api.h"

#include <gtest/gtest.h>

#include <type_traits>

// Macros in cuda.h.
[[maybe_unused]] constexpr unsigned kAssignDefault = gart::cuda::CU_GRAPH_COND_ASSIGN_DEFAULT;
[[maybe_unused]] constexpr unsigned kProgrammaticPort = gart::cuda::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
[[maybe_unused]] constexpr unsigned kProgrammaticEdge = gart::cuda::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
[[maybe_unused]] constexpr unsigned kPortable = gart::cuda::CU_MEMHOSTALLOC_PORTABLE;

#ifdef GART_TEST_CUDA_H
#include GART_TEST_CUDA_H
#endif

namespace gart::cuda {
namespace {

#ifdef GART_TEST_CUDA_H

/// True if both types are passed in the same way: as pointers, or numbers of one size.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  } else {
    return sizeof(A) == sizeof(B) && (std::is_integral_v<A> || std::is_enum_v<A>) &&
           (std::is_integral_v<B> || std::is_enum_v<B>);
  }
}

template <class... A>
struct List {};

template <class... A, class Result, class... B>
constexpr bool same_call(List<A...>, Result (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return sizeof(Result) == sizeof(CUresult) && (alike<A, B>() && ...);
  }
}

static_assert(!same_call(List<int>{}, static_cast<::CUresult (*)(void*)>(nullptr)), "the comparison can fail");
static_assert(!same_call(List<int>{}, static_cast<::CUresult (*)(size_t)>(nullptr)), "the comparison can fail");

#define GART_SAME_CALL(name, ...) \
  static_assert(same_call(List<__VA_ARGS__>{}, static_cast<decltype(&::name)>(nullptr)), #name);
GART_CUDA_FUNCTIONS(GART_SAME_CALL)

#define GART_SAME_VALUE(name) static_assert(int64_t(gart::cuda::name) == int64_t(::name), #name)
GART_SAME_VALUE(CUDA_SUCCESS);
GART_SAME_VALUE(CUDA_ERROR_INVALID_VALUE);
GART_SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY);
GART_SAME_VALUE(CUDA_ERROR_DEINITIALIZED);
GART_SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED);
GART_SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
GART_SAME_VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT8);
GART_SAME_VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT16);
GART_SAME_VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT32);
GART_SAME_VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT64);
GART_SAME_VALUE(CU_TENSOR_MAP_INTERLEAVE_NONE);
GART_SAME_VALUE(CU_TENSOR_MAP_SWIZZLE_NONE);
GART_SAME_VALUE(CU_TENSOR_MAP_SWIZZLE_32B);
GART_SAME_VALUE(CU_TENSOR_MAP_SWIZZLE_64B);
GART_SAME_VALUE(CU_TENSOR_MAP_SWIZZLE_128B);
GART_SAME_VALUE(CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
GART_SAME_VALUE(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
static_assert(sizeof(gart::cuda::CUtensorMap) == sizeof(::CUtensorMap) &&
              alignof(gart::cuda::CUtensorMap) >= alignof(::CUtensorMap));
GART_SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
GART_SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
GART_SAME_VALUE(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
GART_SAME_VALUE(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
GART_SAME_VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
GART_SAME_VALUE(CU_JIT_ERROR_LOG_BUFFER);
GART_SAME_VALUE(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
GART_SAME_VALUE(CU_MEMORYTYPE_HOST);
GART_SAME_VALUE(CU_MEMORYTYPE_DEVICE);
GART_SAME_VALUE(CU_GRAPH_NODE_TYPE_KERNEL);
GART_SAME_VALUE(CU_GRAPH_NODE_TYPE_MEMCPY);
GART_SAME_VALUE(CU_GRAPH_NODE_TYPE_MEMSET);
GART_SAME_VALUE(CU_GRAPH_NODE_TYPE_CONDITIONAL);
GART_SAME_VALUE(CU_GRAPH_COND_TYPE_IF);
GART_SAME_VALUE(CU_GRAPH_COND_TYPE_WHILE);
static_assert(kAssignDefault == CU_GRAPH_COND_ASSIGN_DEFAULT && kPortable == CU_MEMHOSTALLOC_PORTABLE);
GART_SAME_VALUE(CUDA_GRAPH_INSTANTIATE_SUCCESS);
GART_SAME_VALUE(CU_STREAM_NON_BLOCKING);
GART_SAME_VALUE(CU_EVENT_DISABLE_TIMING);
GART_SAME_VALUE(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);

#define GART_SAME_FIELD(ours, theirs, field)                                      \
  static_assert(offsetof(gart::cuda::ours, field) == offsetof(::theirs, field) && \
                    sizeof(gart::cuda::ours::field) == sizeof(::theirs::field),   \
                #ours "." #field)
static_assert(sizeof(gart::cuda::CUDA_KERNEL_NODE_PARAMS) == sizeof(::CUDA_KERNEL_NODE_PARAMS_v3));
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, func);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, gridDimX);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, blockDimX);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, sharedMemBytes);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, kernelParams);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, extra);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, kern);
GART_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3, ctx);
static_assert(sizeof(gart::cuda::CUDA_MEMCPY3D) == sizeof(::CUDA_MEMCPY3D_v2));
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, srcMemoryType);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, srcHost);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, srcDevice);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, dstMemoryType);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, dstHost);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, dstDevice);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, WidthInBytes);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, Height);
GART_SAME_FIELD(CUDA_MEMCPY3D, CUDA_MEMCPY3D_v2, Depth);
GART_SAME_FIELD(CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, copyCtx);
GART_SAME_FIELD(CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, copyParams);
static_assert(sizeof(gart::cuda::CUDA_MEMSET_NODE_PARAMS) == sizeof(::CUDA_MEMSET_NODE_PARAMS_v2));
GART_SAME_FIELD(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, dst);
GART_SAME_FIELD(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, value);
GART_SAME_FIELD(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, elementSize);
GART_SAME_FIELD(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, width);
GART_SAME_FIELD(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, height);
GART_SAME_FIELD(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, ctx);
static_assert(sizeof(gart::cuda::CUDA_CONDITIONAL_NODE_PARAMS) == sizeof(::CUDA_CONDITIONAL_NODE_PARAMS));
GART_SAME_FIELD(CUDA_CONDITIONAL_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, handle);
GART_SAME_FIELD(CUDA_CONDITIONAL_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, type);
GART_SAME_FIELD(CUDA_CONDITIONAL_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, size);
GART_SAME_FIELD(CUDA_CONDITIONAL_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out);
GART_SAME_FIELD(CUDA_CONDITIONAL_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, ctx);
GART_SAME_FIELD(CUgraphNodeParams, CUgraphNodeParams, type);
GART_SAME_FIELD(CUgraphNodeParams, CUgraphNodeParams, kernel);
GART_SAME_FIELD(CUgraphNodeParams, CUgraphNodeParams, memcpy);
GART_SAME_FIELD(CUgraphNodeParams, CUgraphNodeParams, memset);
GART_SAME_FIELD(CUgraphNodeParams, CUgraphNodeParams, graph);
GART_SAME_FIELD(CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_CHILD_GRAPH_NODE_PARAMS, graph);
static_assert(sizeof(gart::cuda::CUgraphNodeParams) == sizeof(::CUgraphNodeParams));
static_assert(sizeof(gart::cuda::CUgraphEdgeData) == sizeof(::CUgraphEdgeData));
GART_SAME_FIELD(CUgraphEdgeData, CUgraphEdgeData, from_port);
GART_SAME_FIELD(CUgraphEdgeData, CUgraphEdgeData, to_port);
GART_SAME_FIELD(CUgraphEdgeData, CUgraphEdgeData, type);
GART_SAME_FIELD(CUgraphEdgeData, CUgraphEdgeData, reserved);
static_assert(kProgrammaticPort == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC &&
              kProgrammaticEdge == ::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
GART_SAME_FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
GART_SAME_FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream);
GART_SAME_FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out);
GART_SAME_FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);

TEST(CudaDriverApi, DeclarationsAreTheDriversOwn) { SUCCEED() << "compared at compile time, toolkit " << CUDA_VERSION; }

#else

TEST(CudaDriverApi, DeclarationsAreTheDriversOwn) { GTEST_SKIP() << "no cuda.h on this machine"; }

#endif

}  // namespace
}  // namespace gart::cuda
