// The part of the CUDA driver's ABI that this runtime calls. It is declared here, so that libgart builds without a
// toolkit and links none of it. If the real cuda.h is installed, a test compares these declarations with it. Names are
// the driver's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gart::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUkernel = struct CUkern_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphConditionalHandle = uint64_t;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEINITIALIZED = 4,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};
enum CUjit_option : int { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum CUmemorytype : int { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
enum CUgraphNodeType : int {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_GRAPH_NODE_TYPE_MEMCPY = 1,
  CU_GRAPH_NODE_TYPE_MEMSET = 2,
  CU_GRAPH_NODE_TYPE_GRAPH = 4,
  CU_GRAPH_NODE_TYPE_CONDITIONAL = 13,
};
enum CUgraphConditionalNodeType : int { CU_GRAPH_COND_TYPE_IF = 0, CU_GRAPH_COND_TYPE_WHILE = 1 };
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUgraphInstantiateResult : int { CUDA_GRAPH_INSTANTIATE_SUCCESS = 0 };

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2;
inline constexpr unsigned CU_GRAPH_COND_ASSIGN_DEFAULT = 1;
inline constexpr unsigned char CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1;
inline constexpr unsigned char CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1;

enum CUtensorMapDataType : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
};
enum CUtensorMapInterleave : int { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle : int {  // as fb::Swizzle
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};
enum CUtensorMapL2promotion : int { CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 };
enum CUtensorMapFloatOOBfill : int { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

struct alignas(128) CUtensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(CUtensorMap) == 128);

struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
};
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72 && offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX) == 8 &&
              offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX) == 20 &&
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) == 32 &&
              offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams) == 40 && offsetof(CUDA_KERNEL_NODE_PARAMS, ctx) == 64);

struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void *srcArray, *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void *dstArray, *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};
static_assert(sizeof(CUDA_MEMCPY3D) == 200 && offsetof(CUDA_MEMCPY3D, srcMemoryType) == 32 &&
              offsetof(CUDA_MEMCPY3D, srcHost) == 40 && offsetof(CUDA_MEMCPY3D, srcDevice) == 48 &&
              offsetof(CUDA_MEMCPY3D, srcPitch) == 72 && offsetof(CUDA_MEMCPY3D, dstXInBytes) == 88 &&
              offsetof(CUDA_MEMCPY3D, dstMemoryType) == 120 && offsetof(CUDA_MEMCPY3D, dstHost) == 128 &&
              offsetof(CUDA_MEMCPY3D, dstDevice) == 136 && offsetof(CUDA_MEMCPY3D, dstPitch) == 160 &&
              offsetof(CUDA_MEMCPY3D, WidthInBytes) == 176 && offsetof(CUDA_MEMCPY3D, Depth) == 192);

struct CUDA_MEMCPY_NODE_PARAMS {
  int flags, reserved;
  CUcontext copyCtx;
  CUDA_MEMCPY3D copyParams;
};
static_assert(sizeof(CUDA_MEMCPY_NODE_PARAMS) == 216 && offsetof(CUDA_MEMCPY_NODE_PARAMS, copyParams) == 16);

struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
  CUcontext ctx;
};
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 48 && offsetof(CUDA_MEMSET_NODE_PARAMS, value) == 16 &&
              offsetof(CUDA_MEMSET_NODE_PARAMS, width) == 24 && offsetof(CUDA_MEMSET_NODE_PARAMS, ctx) == 40);

struct CUDA_CONDITIONAL_NODE_PARAMS {
  CUgraphConditionalHandle handle;
  CUgraphConditionalNodeType type;
  unsigned size;         // of phGraph_out
  CUgraph* phGraph_out;  // set by the driver: the body graphs, which the caller fills
  CUcontext ctx;
};
static_assert(sizeof(CUDA_CONDITIONAL_NODE_PARAMS) == 32 && offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out) == 16);

struct CUDA_CHILD_GRAPH_NODE_PARAMS {
  CUgraph graph;  // the node gets a copy of it
  int ownership;
};
static_assert(sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS) == 16);

struct CUgraphNodeParams {  // bytes that the node's type does not use must be zero
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY_NODE_PARAMS memcpy;
    CUDA_MEMSET_NODE_PARAMS memset;
    CUDA_CHILD_GRAPH_NODE_PARAMS graph;
    CUDA_CONDITIONAL_NODE_PARAMS conditional;
  };
  long long reserved2;
};
static_assert(sizeof(CUgraphNodeParams) == 256 && offsetof(CUgraphNodeParams, kernel) == 16);

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
static_assert(sizeof(CUgraphEdgeData) == 8);

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  uint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  CUgraphInstantiateResult result_out;
};
static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32 && offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out) == 24);

/// X(exported name, parameter types...). Each function has the same signature from its first driver to the newest; 12.3
/// has them all. Calls for single kinds of graph nodes are omitted: toolkit 13.5 announces their removal.
#define GART_CUDA_FUNCTIONS(X)                                                                                        \
  X(cuInit, unsigned)                                                                                                 \
  X(cuDriverGetVersion, int*)                                                                                         \
  X(cuGetErrorName, CUresult, const char**)                                                                           \
  X(cuGetErrorString, CUresult, const char**)                                                                         \
  X(cuDeviceGetCount, int*)                                                                                           \
  X(cuDeviceGet, CUdevice*, int)                                                                                      \
  X(cuDeviceGetAttribute, int*, CUdevice_attribute, CUdevice)                                                         \
  X(cuDevicePrimaryCtxRetain, CUcontext*, CUdevice)                                                                   \
  X(cuDevicePrimaryCtxRelease_v2, CUdevice)                                                                           \
  X(cuCtxSetCurrent, CUcontext)                                                                                       \
  X(cuCtxGetCurrent, CUcontext*)                                                                                      \
  X(cuModuleLoadDataEx, CUmodule*, const void*, unsigned, CUjit_option*, void**)                                      \
  X(cuModuleUnload, CUmodule)                                                                                         \
  X(cuModuleGetFunction, CUfunction*, CUmodule, const char*)                                                          \
  X(cuFuncGetAttribute, int*, CUfunction_attribute, CUfunction)                                                       \
  X(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int)                                                        \
  X(cuMemGetInfo_v2, size_t*, size_t*)                                                                                \
  X(cuMemAlloc_v2, CUdeviceptr*, size_t)                                                                              \
  X(cuMemFree_v2, CUdeviceptr)                                                                                        \
  X(cuMemHostAlloc, void**, size_t, unsigned)                                                                         \
  X(cuMemFreeHost, void*)                                                                                             \
  X(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void*, size_t, CUstream)                                                 \
  X(cuMemcpyDtoHAsync_v2, void*, CUdeviceptr, size_t, CUstream)                                                       \
  X(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, size_t, CUstream)                                                 \
  X(cuMemcpyPeerAsync, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)                              \
  X(cuDeviceCanAccessPeer, int*, CUdevice, CUdevice)                                                                  \
  X(cuCtxEnablePeerAccess, CUcontext, unsigned)                                                                       \
  X(cuMemsetD32Async, CUdeviceptr, unsigned, size_t, CUstream)                                                        \
  X(cuStreamCreateWithPriority, CUstream*, unsigned, int)                                                             \
  X(cuStreamDestroy_v2, CUstream)                                                                                     \
  X(cuStreamSynchronize, CUstream)                                                                                    \
  X(cuStreamWaitEvent, CUstream, CUevent, unsigned)                                                                   \
  X(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)                                                           \
  X(cuStreamEndCapture, CUstream, CUgraph*)                                                                           \
  X(cuEventCreate, CUevent*, unsigned)                                                                                \
  X(cuEventDestroy_v2, CUevent)                                                                                       \
  X(cuEventRecord, CUevent, CUstream)                                                                                 \
  X(cuEventSynchronize, CUevent)                                                                                      \
  X(cuEventElapsedTime, float*, CUevent, CUevent)                                                                     \
  X(cuGraphCreate, CUgraph*, unsigned)                                                                                \
  X(cuGraphDestroy, CUgraph)                                                                                          \
  X(cuGraphAddNode_v2, CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t, CUgraphNodeParams*) \
  X(cuGraphConditionalHandleCreate, CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned, unsigned)                \
  X(cuGraphInstantiateWithParams, CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)                              \
  X(cuGraphExecNodeSetParams, CUgraphExec, CUgraphNode, CUgraphNodeParams*)                                           \
  X(cuGraphExecDestroy, CUgraphExec)                                                                                  \
  X(cuGraphLaunch, CUgraphExec, CUstream)                                                                             \
  X(cuTensorMapEncodeTiled, CUtensorMap*, CUtensorMapDataType, unsigned, void*, const uint64_t*, const uint64_t*,     \
    const unsigned*, const unsigned*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,              \
    CUtensorMapFloatOOBfill)                                                                                          \
  X(cuTensorMapEncodeIm2col, CUtensorMap*, CUtensorMapDataType, unsigned, void*, const uint64_t*, const uint64_t*,    \
    const int*, const int*, unsigned, unsigned, const unsigned*, CUtensorMapInterleave, CUtensorMapSwizzle,           \
    CUtensorMapL2promotion, CUtensorMapFloatOOBfill)

}  // namespace gart::cuda
