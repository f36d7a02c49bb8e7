// The part of cuBLASLt's ABI that this runtime calls, declared here. If the real cublasLt.h is installed, a test
// compares these declarations with it. Names are the library's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver/driver_api.h"

namespace gart::cuda {

using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t*;

enum : cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cudaDataType : int { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasLtEpilogue_t : int {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_GELU = 32,
};
enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,           // int32
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,  // int64, elements
};
enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,        // int32
  CUBLASLT_MATMUL_DESC_TRANSB = 4,        // int32
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,      // uint32
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,  // const void*
};
enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,    // uint64
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,  // uint32, these four
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96 && offsetof(cublasLtMatmulHeuristicResult_t, state) == 72);

/// X(result, exported name, parameter types...)
#define GART_CUBLASLT_FUNCTIONS(X)                                                                                     \
  X(size_t, cublasLtGetVersion)                                                                                        \
  X(const char*, cublasLtGetStatusName, cublasStatus_t)                                                                \
  X(cublasStatus_t, cublasLtCreate, cublasLtHandle_t*)                                                                 \
  X(cublasStatus_t, cublasLtDestroy, cublasLtHandle_t)                                                                 \
  X(cublasStatus_t, cublasLtMatmulDescCreate, cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType)                \
  X(cublasStatus_t, cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t)                                                   \
  X(cublasStatus_t, cublasLtMatmulDescSetAttribute, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*, \
    size_t)                                                                                                            \
  X(cublasStatus_t, cublasLtMatrixLayoutCreate, cublasLtMatrixLayout_t*, cudaDataType, uint64_t, uint64_t, int64_t)    \
  X(cublasStatus_t, cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t)                                               \
  X(cublasStatus_t, cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,         \
    const void*, size_t)                                                                                               \
  X(cublasStatus_t, cublasLtMatmulPreferenceCreate, cublasLtMatmulPreference_t*)                                       \
  X(cublasStatus_t, cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t)                                       \
  X(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t,                                  \
    cublasLtMatmulPreferenceAttributes_t, const void*, size_t)                                                         \
  X(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic, cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,    \
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,           \
    cublasLtMatmulHeuristicResult_t*, int*)                                                                            \
  X(cublasStatus_t, cublasLtMatmulAlgoCheck, cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,           \
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*,               \
    cublasLtMatmulHeuristicResult_t*)                                                                                  \
  X(cublasStatus_t, cublasLtMatmul, cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,                  \
    cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t,     \
    void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, CUstream)

}  // namespace gart::cuda
