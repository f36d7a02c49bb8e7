/* Kernels for hand-made artifacts: plain C, compiled by the host's compiler into a section of their own whose bytes
 * become the artifact's code. They must not need anything outside the section: no calls, no constants in memory. */
#include "tests/runtime/test_kernels.h"

#define KERNEL __attribute__((section("gart_kernels"), noinline, used)) int32_t
#define LANES 16 /* elements per task */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* out = a + b; params: elements */
KERNEL test_add(const gart_kernel_args* args, int64_t begin, int64_t end) {
  const float* a = args->buffers[0];
  const float* b = args->buffers[1];
  float* out = args->buffers[2];
  for (int64_t i = begin * LANES; i < least(end * LANES, args->params[0]); ++i) out[i] = a[i] + b[i];
  return GART_KERNEL_OK;
}

/* out = 2 a, through the thread's scratch; params: elements */
KERNEL test_double(const gart_kernel_args* args, int64_t begin, int64_t end) {
  const float* a = args->buffers[0];
  float* out = args->buffers[1];
  float* scratch = args->scratch;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t first = task * LANES, count = least(LANES, args->params[0] - first);
    for (int64_t i = 0; i < count; ++i) scratch[i] = a[first + i] + a[first + i];
    for (int64_t i = 0; i < count; ++i) out[first + i] = scratch[i];
  }
  return GART_KERNEL_OK;
}

/* out[i] = data[index[i]]; params: elements of index, of data */
KERNEL test_gather(const gart_kernel_args* args, int64_t begin, int64_t end) {
  const float* data = args->buffers[0];
  const int64_t* index = args->buffers[1];
  float* out = args->buffers[2];
  for (int64_t i = begin * LANES; i < least(end * LANES, args->params[0]); ++i) {
    if (index[i] < 0 || index[i] >= args->params[1]) return GART_KERNEL_INDEX_OUT_OF_RANGE;
    out[i] = data[index[i]];
  }
  return GART_KERNEL_OK;
}

/* count = how many of a are positive; params: elements of a */
KERNEL test_count_positive(const gart_kernel_args* args, int64_t begin, int64_t end) {
  const float* a = args->buffers[0];
  int64_t* count = args->buffers[1];
  (void)begin, (void)end;
  int64_t found = 0;
  for (int64_t i = 0; i < args->params[0]; ++i) found += a[i] > 0;
  *count = found;
  return GART_KERNEL_OK;
}

/* out = the positive ones of a, in order; params: elements of a */
KERNEL test_positives(const gart_kernel_args* args, int64_t begin, int64_t end) {
  const float* a = args->buffers[0];
  float* out = args->buffers[1];
  (void)begin, (void)end;
  for (int64_t i = 0; i < args->params[0]; ++i) {
    if (a[i] > 0) *out++ = a[i];
  }
  return GART_KERNEL_OK;
}

/* out = import 0 of a; params: elements */
KERNEL test_call_import(const gart_kernel_args* args, int64_t begin, int64_t end) {
  float (*function)(float) = (float (*)(float))(uintptr_t)args->imports[0];
  const float* a = args->buffers[0];
  float* out = args->buffers[1];
  for (int64_t i = begin * LANES; i < least(end * LANES, args->params[0]); ++i) out[i] = function(a[i]);
  return GART_KERNEL_OK;
}

/* below = value < params[0], both in element 0 */
KERNEL test_below(const gart_kernel_args* args, int64_t begin, int64_t end) {
  const float* value = args->buffers[0];
  uint8_t* below = args->buffers[1];
  (void)begin, (void)end;
  *below = (int64_t)*value < args->params[0];
  return GART_KERNEL_OK;
}

/* an error code that the format does not define */
KERNEL test_fails(const gart_kernel_args* args, int64_t begin, int64_t end) {
  (void)args, (void)begin, (void)end;
  return 7;
}

extern const char __start_gart_kernels[], __stop_gart_kernels[];

const char* test_kernels_begin(void) { return __start_gart_kernels; }
size_t test_kernels_size(void) { return (size_t)(__stop_gart_kernels - __start_gart_kernels); }
