// Our declarations of cuBLASLt's ABI against those of a real cublasLt.h.
#include "runtime/cuda/libraries/cublaslt_api.h"

#include <gtest/gtest.h>

#include "tests/cuda/libraries/same_call.h"

#ifdef GART_TEST_CUBLASLT_H
#include <cublasLt.h>
#endif

namespace gart::cuda {
namespace {

#ifdef GART_TEST_CUBLASLT_H

#define GART_SAME_CALL(result, name, ...) \
  static_assert(test::same_call<result>(test::List<__VA_ARGS__>(), &::name), #name);
GART_CUBLASLT_FUNCTIONS(GART_SAME_CALL)

#define GART_SAME_VALUE(name) static_assert(int(gart::cuda::name) == int(::name), #name)
GART_SAME_VALUE(CUBLAS_STATUS_SUCCESS);
GART_SAME_VALUE(CUBLAS_STATUS_NOT_SUPPORTED);
GART_SAME_VALUE(CUBLAS_COMPUTE_32F);
GART_SAME_VALUE(CUBLAS_COMPUTE_32F_FAST_16F);
GART_SAME_VALUE(CUBLAS_COMPUTE_32F_FAST_16BF);
GART_SAME_VALUE(CUBLAS_COMPUTE_32F_FAST_TF32);
GART_SAME_VALUE(CUDA_R_32F);
GART_SAME_VALUE(CUDA_R_16F);
GART_SAME_VALUE(CUDA_R_16BF);
GART_SAME_VALUE(CUBLAS_OP_N);
GART_SAME_VALUE(CUBLAS_OP_T);
GART_SAME_VALUE(CUBLASLT_EPILOGUE_DEFAULT);
GART_SAME_VALUE(CUBLASLT_EPILOGUE_RELU);
GART_SAME_VALUE(CUBLASLT_EPILOGUE_BIAS);
GART_SAME_VALUE(CUBLASLT_EPILOGUE_GELU);
static_assert(int(::CUBLASLT_EPILOGUE_GELU_BIAS) == (CUBLASLT_EPILOGUE_GELU | CUBLASLT_EPILOGUE_BIAS));
static_assert(int(::CUBLASLT_EPILOGUE_RELU_BIAS) == (CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_BIAS));
GART_SAME_VALUE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
GART_SAME_VALUE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
GART_SAME_VALUE(CUBLASLT_MATMUL_DESC_TRANSA);
GART_SAME_VALUE(CUBLASLT_MATMUL_DESC_TRANSB);
GART_SAME_VALUE(CUBLASLT_MATMUL_DESC_EPILOGUE);
GART_SAME_VALUE(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
GART_SAME_VALUE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
GART_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
GART_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
GART_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
GART_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

#define GART_SAME_FIELD(type, field)                                                                        \
  static_assert(offsetof(gart::cuda::type, field) == offsetof(::type, field) &&                             \
                    sizeof(std::declval<gart::cuda::type>().field) == sizeof(std::declval<::type>().field), \
                #type "::" #field)
static_assert(sizeof(gart::cuda::cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t));
static_assert(sizeof(gart::cuda::cublasLtMatmulHeuristicResult_t) == sizeof(::cublasLtMatmulHeuristicResult_t));
GART_SAME_FIELD(cublasLtMatmulHeuristicResult_t, algo);
GART_SAME_FIELD(cublasLtMatmulHeuristicResult_t, workspaceSize);
GART_SAME_FIELD(cublasLtMatmulHeuristicResult_t, state);

TEST(CublasLtApi, DeclarationsAreTheLibrarysOwn) { SUCCEED() << "compared at compile time, cuBLAS " << CUBLAS_VERSION; }

#else

TEST(CublasLtApi, DeclarationsAreTheLibrarysOwn) { GTEST_SKIP() << "no cublasLt.h on this machine"; }

#endif

}  // namespace
}  // namespace gart::cuda
