/* Operators that the application computes. They are declared when a model is compiled (gcc-graph compile --custom-op).
 * When the application loads the artifact, it must give a function for each. */
#ifndef GART_CUSTOM_OP_H
#define GART_CUSTOM_OP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A dense row-major tensor in host memory, aligned to its elements. */
typedef struct gart_op_tensor {
  void*
      data; /* an input's must not be written. NULL: an input that the model leaves out, an output that nothing reads */
  const int64_t* dims; /* extents, outermost first */
  int32_t rank;
  int32_t dtype; /* a gart_dtype; GART_UNDEFINED where data is NULL */
} gart_op_tensor;

/* All data is valid during the call only. */
typedef struct gart_op_call {
  const gart_op_tensor* inputs;  /* as many as were declared */
  const gart_op_tensor* outputs; /* the function must write all elements; they are undefined before */
  const char* attributes;        /* of the model's node, a JSON object; a tensor is {"dims": [2, 3], "data": [...]} */
  void* workspace;               /* of the declared size, 64-byte aligned; NULL: none was declared */
  int64_t workspace_bytes;
  int32_t input_count, output_count;
} gart_op_call;

/* Computes a node on the thread that runs the model; several threads may call it at once if several run the model. The
 * same inputs must give the same outputs. Returns 0 for success; another number ends the run with an error that names
 * it, and so does an exception. Must not run the invocation that called it, whose run is in progress. */
typedef int32_t (*gart_op_function)(void* user, const gart_op_call* call);

typedef struct gart_custom_op {
  const char* name;          /* "acme::Blend": domain and operator; an operator of ai.onnx by its name alone */
  gart_op_function function; /* must be callable as long as the program lives */
  void* user;                /* passed to the function */
} gart_custom_op;

#ifdef __cplusplus
}
#endif
#endif
