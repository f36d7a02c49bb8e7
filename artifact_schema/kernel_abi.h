/* The calling conventions between the runtime and the kernels of an artifact. Part of the file format: changing
 * anything here is a new major version.
 *
 * A CUDA kernel is a function of a module (a cubin, or PTX text that ends with a NUL), launched with a one-dimensional
 * grid of `tasks` blocks of `threads` threads, and these parameters in this order: a pointer per operand, an int64_t
 * per parameter, `void* workspace` (256-byte aligned, as many bytes as the kernel's scratch slot says; its contents
 * last until the end of the next launch on the same stream), `uint32_t* status` (the kernel stores
 * GART_KERNEL_INDEX_OUT_OF_RANGE there, and never GART_KERNEL_OK), a CUtensorMap by value per tensor map of the kernel
 * (128-byte aligned, Step.maps).
 *
 * A kernel with `waits` may be launched while the previous kernel on its stream runs: as soon as each block of that one
 * has begun, or later if that kernel asks for it. Until all its threads have waited (griddepcontrol.wait) it may read
 * only memory that no step writes. Until then it may write nothing, not even the workspace or the status.
 *
 * The conditional kernel of a target (Target.conditional_kernel) runs as one thread, before a branch or loop and after
 * each turn of a loop, and sets handles of the graph's conditional nodes. Its parameters: `const uint8_t* condition`
 * (null: true), `const int64_t* trips` (null: unbounded), `int64_t* iteration` (null: not wanted), `int64_t* counter`
 * (null for a branch: no turns are counted), `uint64_t yes` (the handle set to 1 if the condition holds and turns are
 * left, otherwise to 0), `uint64_t no` (the handle set to the opposite), `uint64_t flags` (1: the first turn, the
 * counter is set to 0 rather than raised; 2: there is a `no`).
 *
 * A CPU kernel is a function of the code blob: */
#ifndef GART_ARTIFACT_SCHEMA_KERNEL_ABI_H
#define GART_ARTIFACT_SCHEMA_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything a kernel may read; immutable during the call. */
typedef struct gart_kernel_args {
  void* const* buffers;       /* one per operand, 64-byte aligned at element 0 */
  const int64_t* params;      /* values of the symbolic extents that the kernel needs */
  void* scratch;              /* this thread's scratch, 64-byte aligned */
  const void* const* imports; /* addresses of the blob's import table */
} gart_kernel_args;

/* Runs tasks [begin, end). Returns GART_KERNEL_OK or an error; the output is unspecified after an error. An error is
 * GART_KERNEL_INDEX_OUT_OF_RANGE, or an encoding of the value that a function of the application returned: negated if
 * that was above 0, otherwise 1 minus it (INT32_MIN counts as -INT32_MAX, and 1 minus that wraps around to INT32_MIN).
 */
typedef int32_t (*gart_kernel)(const gart_kernel_args* args, int64_t begin, int64_t end);

enum { GART_KERNEL_OK = 0, GART_KERNEL_INDEX_OUT_OF_RANGE = 1 };
enum { GART_CONDITIONAL_FIRST = 1, GART_CONDITIONAL_HAS_NO = 2 };

#ifdef __cplusplus
}
#endif
#endif
