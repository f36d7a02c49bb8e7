/* The C API's part about GPUs, compiled as C11, on 2 (x + y) for f32[n]. */
#include <string.h>

#include "gart/gart.h"
#include "tests/runtime/c_check.h"

static int set_inputs(gart_invocation* invocation, const gart_tensor* both) {
  CHECK(gart_set_input(invocation, 0, both) == GART_OK);
  CHECK(gart_set_input(invocation, 1, both) == GART_OK);
  return 0;
}

/* Results stay on the GPU, feed another invocation on the same stream, and are written where the caller wants them. */
static int check_chain(gart_invocation* first, gart_invocation* second, void* stream) {
  static const float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
  const gart_tensor of_x = {x, GART_F32, 1, {3}, NULL}, of_y = {y, GART_F32, 1, {3}, "cpu"};
  gart_tensor between, last;
  float out[3] = {0, 0, 0};
  CHECK(gart_set_output_on(first, 0, NULL, 0, GART_UNDEFINED, "cuda:0") == GART_OK);
  CHECK(set_inputs(first, &of_x) == 0);
  CHECK(gart_run_async(first, stream) == GART_OK);
  CHECK(gart_get_output(first, 0, &between) == GART_OK);
  CHECK(strcmp(between.device, "cuda:0") == 0 && between.rank == 1 && between.dims[0] == 3 && between.dtype == GART_F32);
  CHECK(gart_set_output_on(second, 0, out, sizeof out, GART_F32, NULL) == GART_OK);
  CHECK(set_inputs(second, &between) == 0);
  CHECK(gart_run_async(second, stream) == GART_OK);
  CHECK(gart_wait(second) == GART_OK && gart_wait(first) == GART_OK);
  CHECK(out[0] == 16.0f && out[1] == 32.0f && out[2] == 48.0f);

  CHECK(gart_set_output(second, 0, NULL, 0, GART_UNDEFINED) == GART_OK);
  CHECK(gart_set_output_on(second, 0, (void*)between.data, sizeof out, GART_F32, "cuda:0") == GART_OK);
  CHECK(set_inputs(second, &of_y) == 0);
  CHECK(gart_run_async(second, stream) == GART_OK);
  CHECK(gart_get_output(second, 0, &last) == GART_OK);
  CHECK(last.data == between.data && strcmp(last.device, "cuda:0") == 0);
  CHECK(gart_wait(second) == GART_OK);
  CHECK(set_inputs(second, &last) == 0);
  CHECK(gart_set_output_on(second, 0, out, sizeof out, GART_F32, "cpu") == GART_OK);
  CHECK(gart_run_async(second, stream) == GART_OK && gart_wait(second) == GART_OK);
  CHECK(out[0] == 160.0f && out[1] == 320.0f && out[2] == 480.0f);
  return 0;
}

static int check_errors(gart_invocation* invocation, void* stream) {
  float out[3];
  CHECK(gart_set_output_on(invocation, 0, out, sizeof out, GART_F32, "cuda:1") == GART_INVALID_ARGUMENT);
  CHECK(strcmp(gart_last_error(), "output 'out' is on device 'cuda:1', but this program runs on 'cuda:0'") == 0);
  CHECK(gart_set_output_on(NULL, 0, out, sizeof out, GART_F32, NULL) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_output_on(invocation, 0, out, sizeof out - 1, GART_F32, NULL) == GART_OK);
  CHECK(gart_run_async(invocation, stream) == GART_INVALID_ARGUMENT);
  CHECK(strcmp(gart_last_error(), "output 'out' needs 12 bytes, but its buffer has 11") == 0);
  CHECK(gart_run_async(NULL, stream) == GART_INVALID_ARGUMENT && gart_wait(NULL) == GART_INVALID_ARGUMENT);
  return 0;
}

/* 0: all is well. `model`: the bytes of the artifact; `stream`: a CUstream of cuda:0. */
int use_c_api_on_gpu(const void* model, size_t bytes, void* stream) {
  const gart_load_options options = {.size = sizeof options, .threads = 1, .device = "cuda:0"};
  gart_program* program = NULL;
  gart_invocation *first = NULL, *second = NULL;
  int failed = 0;
  CHECK(gart_load_memory(model, bytes, &options, &program) == GART_OK);
  CHECK(strcmp(gart_device(program), "cuda:0") == 0 && strcmp(gart_target(program), "sm_80") == 0);
  CHECK(gart_invocation_new(program, NULL, &first) == GART_OK && gart_invocation_new(program, NULL, &second) == GART_OK);
  gart_program_free(program);
  failed = check_chain(first, second, stream) || check_chain(second, first, NULL) || check_errors(first, stream);
  gart_invocation_free(first);
  gart_invocation_free(second);
  return failed;
}
