/* The C API of the gart runtime, over the same core as gart.hpp; C11. Semantics, threads and lifetimes are those
 * of gart.hpp.
 *
 * Every function that can fail returns 0 (GART_OK) or one of gart_status; gart_last_error() then returns the message.
 */
#ifndef GART_GART_H
#define GART_GART_H

#include <stddef.h>
#include <stdint.h>

#include "gart/custom_op.h"

#if defined(__GNUC__)
#define GART_C_API __attribute__((visibility("default")))
#else
#define GART_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gart_status {
  GART_OK = 0,
  GART_INVALID_ARGUMENT = 1,
  GART_INVALID_ARTIFACT = 2,
  GART_UNSUPPORTED = 3,
  GART_IO = 4,
  GART_OUT_OF_MEMORY = 5,
  GART_RUN_FAILED = 6,
  GART_DEVICE_LOST = 7,
  GART_CANCELLED = 8,
  GART_TIMED_OUT = 9,
  GART_BUSY = 10,
  GART_UNTRUSTED = 11
} gart_status;

typedef enum gart_dtype {
  GART_UNDEFINED = 0,
  GART_F32,
  GART_F64,
  GART_F16,
  GART_BF16,
  GART_I8,
  GART_I16,
  GART_I32,
  GART_I64,
  GART_U8,
  GART_U16,
  GART_U32,
  GART_U64,
  GART_BOOL,     /* one byte, 0 or 1 */
  GART_F8E4M3FN, /* from here on one byte each: narrower types are not packed */
  GART_F8E4M3FNUZ,
  GART_F8E5M2,
  GART_F8E5M2FNUZ,
  GART_F4E2M1,
  GART_I4,
  GART_U4,
  GART_I2,
  GART_U2,
  GART_STRING /* of inputs only: a const char* to a text that ends with NUL */
} gart_dtype;

#define GART_MAX_RANK 16

/* A dense row-major tensor, for reading. */
typedef struct gart_tensor {
  const void* data;
  gart_dtype dtype;
  size_t rank;
  int64_t dims[GART_MAX_RANK];
  const char* device; /* NULL means "cpu" */
} gart_tensor;

/* All zeros are the defaults: `gart_load_options options = {0};`. */
typedef struct gart_load_options {
  size_t size;     /* sizeof(gart_load_options): newer libraries read no more; 0: the size of this first version */
  int skip_verify; /* nonzero: do not check the digests; damaged weights or code remain undetected */
  int threads;     /* 0: one per CPU */
  const char*
      device; /* NULL: the first GPU that there is code for, otherwise the CPU; "cpu", "cpu:0-3", "cuda", "cuda:0" */
  const char* target;               /* NULL: the device's best one */
  int blocking;                     /* nonzero: on a GPU wait for each step, so that errors name the step; slow */
  const gart_custom_op* custom_ops; /* the functions of the model's custom operators; others are ignored. Copied */
  size_t custom_op_count;
  int intra, inter, replicas;      /* gart.hpp, Parallel; 0: the file's choice */
  const char* const* entry_points; /* only these, in ascending order; may name a model's parts */
  size_t entry_point_count;        /* 0: all entry points except parts */
  int no_spin;                     /* nonzero: waiting CPU threads sleep at once; gart.hpp, spin */
  int runs, refuse_runs;           /* most runs at a time, and whether a further one fails; gart.hpp, runs */
  const char* const* trusted_keys; /* refuse what none of these keys has signed: texts of PEM files; gart.hpp */
  size_t trusted_key_count;        /* 0: signatures are not checked */
  const void* signature;           /* of the artifact, for trusted_keys; NULL: in the file PATH.sig */
  size_t signature_size;
} gart_load_options;

/* Bytes, of an invocation and its program. */
typedef struct gart_memory_info {
  int64_t arena_bytes;             /* of intermediate results, per invocation, on the program's device */
  int64_t arena_lower_bound_bytes; /* most bytes that are live at one time; 0: not known */
  int64_t weight_bytes;            /* shared by all invocations */
  int64_t code_bytes;
} gart_memory_info;

typedef struct gart_program gart_program;
typedef struct gart_invocation gart_invocation;
typedef struct gart_session gart_session;
typedef struct gart_tensor_info gart_tensor_info; /* an input or output of an entry point */

/* The version of the library: "0.1.0". */
GART_C_API const char* gart_version(void);

/* The message of the last failure on this thread; never NULL. Valid until this thread's next failing call. */
GART_C_API const char* gart_last_error(void);

/* `options` may be NULL. On success the caller releases *program with gart_program_free. */
GART_C_API gart_status gart_load(const char* path, const gart_load_options* options, gart_program** program);
GART_C_API gart_status gart_load_memory(const void* bytes, size_t size, const gart_load_options* options,
                                        gart_program** program);
GART_C_API void gart_program_free(gart_program* program); /* NULL is allowed; invocations may outlive it */

GART_C_API size_t gart_input_count(const gart_program* program); /* of the first entry point */
GART_C_API size_t gart_output_count(const gart_program* program);
/* NULL if the index is out of range. Dimensions are numbers, symbols or expressions of symbols. The texts live as long
 * as the program. */
GART_C_API const char* gart_input_name(const gart_program* program, size_t index);
GART_C_API const char* gart_output_name(const gart_program* program, size_t index);
GART_C_API gart_dtype gart_input_dtype(const gart_program* program, size_t index);
GART_C_API gart_dtype gart_output_dtype(const gart_program* program, size_t index);
GART_C_API size_t gart_input_rank(const gart_program* program, size_t index);
GART_C_API size_t gart_output_rank(const gart_program* program, size_t index);
GART_C_API const char* gart_input_dim(const gart_program* program, size_t index, size_t axis);
GART_C_API const char* gart_output_dim(const gart_program* program, size_t index, size_t axis);
/* Name `number` that the model has for an output: for i64 elements the meaning of the value, for other types the name
 * of a column. NULL past the last name. */
GART_C_API const char* gart_output_label(const gart_program* program, size_t index, size_t number);
/* The names of the entry points; NULL past the end. For functions with a parameter `entry`, NULL or "" is the first. */
GART_C_API const char* gart_entry_point(const gart_program* program, size_t index);
/* The same for any entry point. NULL past the end, or for an unknown entry point. Lives as long as the program. */
GART_C_API const gart_tensor_info* gart_entry_input(const gart_program* program, const char* entry, size_t index);
GART_C_API const gart_tensor_info* gart_entry_output(const gart_program* program, const char* entry, size_t index);
GART_C_API const char* gart_entry_label(const gart_program* program, const char* entry, size_t output, size_t number);
GART_C_API const char* gart_info_name(const gart_tensor_info* info);
GART_C_API gart_dtype gart_info_dtype(const gart_tensor_info* info);
GART_C_API size_t gart_info_rank(const gart_tensor_info* info);
GART_C_API const char* gart_info_dim(const gart_tensor_info* info, size_t axis); /* NULL if axis >= rank */
/* String `number` of those that the model tells apart in an input of strings, in ascending order. NULL past the last.
 */
GART_C_API const char* gart_info_string(const gart_tensor_info* info, size_t number);
/* The model's metadata, as names and values in turn: text 2i is a name, 2i + 1 its value. NULL past the end. */
GART_C_API const char* gart_metadata(const gart_program* program, size_t index);
GART_C_API const char* gart_target(const gart_program* program);
GART_C_API const char* gart_device(const gart_program* program); /* "cpu", "cpu:0-3", "cuda:0" */
GART_C_API int gart_threads(const gart_program* program);

GART_C_API gart_status gart_invocation_new(const gart_program* program, const char* entry,
                                           gart_invocation** invocation);
GART_C_API void gart_invocation_free(gart_invocation* invocation);
GART_C_API gart_status gart_set_input(gart_invocation* invocation, size_t index, const gart_tensor* tensor);
GART_C_API gart_status gart_set_input_by_name(gart_invocation* invocation, const char* name, const gart_tensor* tensor);
/* `bytes` is the capacity. data == NULL: use the invocation's own memory again. */
GART_C_API gart_status gart_set_output(gart_invocation* invocation, size_t index, void* data, size_t bytes,
                                       gart_dtype dtype);
/* The same in the memory of `device` ("cuda:0"; NULL means "cpu"). data == NULL: the invocation's own memory there. */
GART_C_API gart_status gart_set_output_on(gart_invocation* invocation, size_t index, void* data, size_t bytes,
                                          gart_dtype dtype, const char* device);
GART_C_API gart_status gart_set_output_by_name(gart_invocation* invocation, const char* name, void* data, size_t bytes,
                                               gart_dtype dtype, const char* device);
GART_C_API gart_status gart_run(gart_invocation* invocation);
/* Runs on a CUDA stream (CUstream, cudaStream_t); gart_wait waits for the end. */
GART_C_API gart_status gart_run_async(gart_invocation* invocation, void* stream);
GART_C_API gart_status gart_wait(gart_invocation* invocation);
/* For any thread: the current run ends before its next step with GART_CANCELLED, or the next run if there is none.
 * NULL is allowed. */
GART_C_API void gart_cancel(gart_invocation* invocation);
/* Output `index` of the last successful run; its data is valid until the next gart_run or gart_set_output. */
GART_C_API gart_status gart_get_output(const gart_invocation* invocation, size_t index, gart_tensor* tensor);
GART_C_API gart_status gart_get_output_by_name(const gart_invocation* invocation, const char* name,
                                               gart_tensor* tensor);
/* Sessions: gart.hpp, Session. An entry point with states of a session runs in an invocation of one. */
GART_C_API const gart_tensor_info* gart_state_info(const gart_program* program, size_t index); /* NULL past the end */
GART_C_API gart_status gart_session_new(const gart_program* program, gart_session** session);
GART_C_API void gart_session_free(gart_session* session); /* NULL is allowed; invocations may outlive it */
GART_C_API gart_status gart_session_invocation_new(const gart_session* session, const char* entry,
                                                   gart_invocation** invocation);
/* Sets `*tensor` to the state's type and shape. If `data` is not NULL, also copies its elements there; fails if they
 * need more than `bytes`. */
GART_C_API gart_status gart_session_get_state(const gart_session* session, const char* name, void* data, size_t bytes,
                                              gart_tensor* tensor);
GART_C_API gart_status gart_session_set_state(gart_session* session, const char* name, const gart_tensor* value);
GART_C_API gart_status gart_session_reset(gart_session* session);
GART_C_API gart_status gart_session_fork(const gart_session* session, gart_session** copy);
GART_C_API gart_status gart_session_save(const gart_session* session, const char* path);
GART_C_API gart_status gart_session_load(gart_session* session, const char* path);
/* The states that the program keeps for all callers: gart.hpp, Program::program_states. An entry point that has no
 * other states runs in any invocation. gart_program_get_state is like gart_session_get_state. */
GART_C_API const gart_tensor_info* gart_program_state_info(const gart_program* program, size_t index);
GART_C_API gart_status gart_program_get_state(const gart_program* program, const char* name, void* data, size_t bytes,
                                              gart_tensor* tensor);
GART_C_API gart_status gart_program_set_state(gart_program* program, const char* name, const gart_tensor* value);
GART_C_API gart_status gart_program_save_states(const gart_program* program, const char* path);
GART_C_API gart_status gart_program_load_states(gart_program* program, const char* path);
/* For the shapes of the last run; for static shapes also before. */
GART_C_API gart_status gart_memory(const gart_invocation* invocation, gart_memory_info* memory);

#ifdef __cplusplus
}
#endif
#endif
