/* The kernels of test_kernels.c and where their bytes lie. */
#ifndef GART_TESTS_RUNTIME_TEST_KERNELS_H
#define GART_TESTS_RUNTIME_TEST_KERNELS_H

#include <stddef.h>

#include "artifact_schema/kernel_abi.h"

#define GART_TEST_KERNELS(X) \
  X(test_add)                \
  X(test_double) X(test_gather) X(test_count_positive) X(test_positives) X(test_call_import) X(test_below) X(test_fails)

#ifdef __cplusplus
extern "C" {
#endif

#define GART_DECLARE_KERNEL(name) int32_t name(const gart_kernel_args* args, int64_t begin, int64_t end);
GART_TEST_KERNELS(GART_DECLARE_KERNEL)

const char* test_kernels_begin(void);
size_t test_kernels_size(void);

#ifdef __cplusplus
}
#endif
#endif
