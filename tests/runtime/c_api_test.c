/* The C API, compiled as C11: loads the model whose path is the first argument (2 (x + y) for f32[n]) and uses every
 * function; the second argument is a model of strings. */
#define _POSIX_C_SOURCE 200809L /* clocks of processor time */

#include <math.h>
#include <string.h>
#include <time.h>

#include "gart/gart.h"
#include "tests/runtime/c_check.h"

static int check_description(const gart_program* program) {
  CHECK(gart_input_count(program) == 2 && gart_output_count(program) == 1);
  CHECK(strcmp(gart_input_name(program, 1), "y") == 0 && strcmp(gart_output_name(program, 0), "out") == 0);
  CHECK(gart_input_name(program, 2) == NULL && gart_output_name(program, 1) == NULL);
  CHECK(gart_input_dtype(program, 0) == GART_F32 && gart_output_dtype(program, 0) == GART_F32);
  CHECK(gart_input_rank(program, 0) == 1 && gart_output_rank(program, 0) == 1);
  CHECK(strcmp(gart_input_dim(program, 0, 0), "n") == 0 && strcmp(gart_output_dim(program, 0, 0), "n") == 0);
  CHECK(gart_output_label(program, 0, 0) == NULL && gart_output_label(program, 9, 0) == NULL &&
        gart_output_label(NULL, 0, 0) == NULL);
  CHECK(gart_input_dim(program, 0, 1) == NULL);
  CHECK(gart_version()[0] >= '0' && gart_version()[0] <= '9');
  CHECK(gart_threads(program) == 2 && gart_threads(NULL) == 0);
  CHECK(gart_target(program) != NULL && gart_target(program)[0] != '\0');
  return 0;
}

/* The first entry point by name, and what there is not. */
static int check_entry_points(const char* path, const gart_program* program) {
  const char* entry = gart_entry_point(program, 0);
  const char* const no_entries[] = {"nowhere"};
  const gart_load_options options = {.size = sizeof options, .entry_points = no_entries, .entry_point_count = 1};
  gart_program* other = NULL;
  CHECK(entry != NULL && gart_entry_point(program, 1) == NULL && gart_entry_point(NULL, 0) == NULL);
  CHECK(strcmp(gart_info_name(gart_entry_input(program, entry, 1)), "y") == 0);
  CHECK(gart_entry_input(program, entry, 2) == NULL && gart_entry_input(program, "nowhere", 0) == NULL);
  const gart_tensor_info* out = gart_entry_output(program, entry, 0);
  CHECK(out != NULL && gart_entry_output(program, NULL, 0) == out);
  CHECK(gart_info_dtype(out) == GART_F32 && gart_info_rank(out) == 1 && strcmp(gart_info_dim(out, 0), "n") == 0);
  CHECK(gart_info_dim(out, 1) == NULL && gart_info_name(NULL) == NULL && gart_info_rank(NULL) == 0);
  CHECK(gart_entry_label(program, entry, 0, 0) == NULL && gart_entry_label(NULL, entry, 0, 0) == NULL);
  CHECK(gart_load(path, &options, &other) == GART_INVALID_ARTIFACT &&
        strstr(gart_last_error(), "entry points") != NULL);
  return 0;
}

static int check_memory(gart_invocation* invocation) {
  gart_memory_info memory = {-1, -1, -1, -1};
  CHECK(gart_memory(invocation, &memory) == GART_OK);
  CHECK(memory.arena_bytes >= memory.arena_lower_bound_bytes && memory.arena_lower_bound_bytes >= 0 &&
        memory.code_bytes > 0);
  CHECK(memory.weight_bytes == 0);
  CHECK(gart_memory(invocation, NULL) == GART_INVALID_ARGUMENT && gart_memory(NULL, &memory) == GART_INVALID_ARGUMENT);
  return 0;
}

static int check_runs(gart_invocation* invocation) {
  static const float x[3] = {1, 2, 3},
                     y[3] = {10, 20, 30}; /* outlive the invocation, which looks at them at each run */
  float out[3] = {0, 0, 0};
  gart_tensor input = {x, GART_F32, 1, {3}, NULL}, result;
  CHECK(gart_get_output(invocation, 0, &result) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_input(invocation, 0, &input) == GART_OK);
  CHECK(gart_run(invocation) == GART_INVALID_ARGUMENT);
  CHECK(strcmp(gart_last_error(), "input 1 'y' is not set") == 0);
  input.data = y;
  CHECK(gart_set_input_by_name(invocation, "y", &input) == GART_OK);
  CHECK(gart_run(invocation) == GART_OK);
  CHECK(gart_get_output(invocation, 0, &result) == GART_OK);
  CHECK(result.rank == 1 && result.dims[0] == 3 && result.dtype == GART_F32);
  CHECK(((const float*)result.data)[2] == 66.0f);
  CHECK(gart_set_output(invocation, 0, out, sizeof(out), GART_F32) == GART_OK);
  CHECK(gart_run(invocation) == GART_OK);
  CHECK(out[0] == 22.0f && out[1] == 44.0f && out[2] == 66.0f);
  CHECK(gart_set_output(invocation, 0, out, sizeof(out) - 1, GART_F32) == GART_OK);
  CHECK(gart_run(invocation) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_output(invocation, 0, NULL, 0, GART_F32) == GART_OK);
  CHECK(gart_set_output_by_name(invocation, "out", out, sizeof(out), GART_F32, NULL) == GART_OK);
  out[2] = 0.0f;
  CHECK(gart_run(invocation) == GART_OK && out[2] == 66.0f);
  CHECK(gart_get_output_by_name(invocation, "out", &result) == GART_OK && result.data == out);
  CHECK(gart_get_output_by_name(invocation, "in", &result) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_output_by_name(invocation, "in", out, sizeof(out), GART_F32, NULL) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_output_by_name(invocation, "out", NULL, 0, GART_F32, "cpu") == GART_OK);
  gart_cancel(invocation); /* nothing runs: the next run is meant */
  CHECK(gart_run(invocation) == GART_CANCELLED);
  gart_cancel(NULL);
  CHECK(gart_run(invocation) == GART_OK);
  return 0;
}

static int check_errors(const char* path, gart_program* program, gart_invocation* invocation) {
  gart_tensor tensor = {NULL, GART_F32, 17, {0}, NULL};
  gart_program* other = program;
  const gart_load_options options = {.device = "tpu"};
  CHECK(gart_load("/nonexistent", NULL, &other) == GART_IO && other == NULL);
  CHECK(gart_load(NULL, NULL, &other) == GART_INVALID_ARGUMENT);
  CHECK(strcmp(gart_last_error(), "argument 'path' is null") == 0);
  CHECK(gart_load(path, &options, &other) == GART_UNSUPPORTED);
  CHECK(gart_load_memory("GART", 4, NULL, &other) == GART_INVALID_ARTIFACT);
  CHECK(gart_set_input(invocation, 0, NULL) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_input(invocation, 0, &tensor) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_input(NULL, 0, &tensor) == GART_INVALID_ARGUMENT);
  CHECK(gart_set_input_by_name(invocation, NULL, &tensor) == GART_INVALID_ARGUMENT);
  CHECK(gart_run(NULL) == GART_INVALID_ARGUMENT);
  CHECK(gart_get_output(invocation, 1, &tensor) == GART_INVALID_ARGUMENT);
  CHECK(gart_invocation_new(program, "other", &invocation) == GART_INVALID_ARGUMENT);
  CHECK(gart_input_count(NULL) == 0);
  return 0;
}

/* A damaged last byte, which is code or weights: only the digests tell. */
static int check_verification(const char* path) {
  static unsigned char bytes[1 << 20];
  gart_load_options options = {0};
  gart_program* program = NULL;
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  CHECK(fclose(file) == 0 && size > 0 && size < sizeof bytes);
  bytes[size - 1] ^= 1;
  CHECK(gart_load_memory(bytes, size, &options, &program) == GART_INVALID_ARTIFACT && program == NULL);
  options.skip_verify = 1;
  CHECK(gart_load_memory(bytes, size, &options, &program) == GART_OK);
  gart_program_free(program);
  return 0;
}

static double processor_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* What the other threads of a pool take between runs that are 3 ms apart: nothing, where they may not spin. */
static int check_waiting(const char* path) {
  enum { kElements = 1 << 18, kRuns = 20 };
  static const float x[kElements];
  const gart_load_options options = {.size = sizeof options, .device = "cpu", .threads = 2, .no_spin = 1};
  const gart_tensor input = {x, GART_F32, 1, {kElements}, NULL};
  const struct timespec pause = {0, 3000000};
  double before = 0, working = 0;
  gart_program* program = NULL;
  gart_invocation* invocation = NULL;
  CHECK(gart_load(path, &options, &program) == GART_OK);
  CHECK(gart_invocation_new(program, NULL, &invocation) == GART_OK);
  CHECK(gart_set_input(invocation, 0, &input) == GART_OK && gart_set_input(invocation, 1, &input) == GART_OK);
  for (int i = 0; i < kRuns; ++i) {
    CHECK(gart_run(invocation) == GART_OK);
    if (i == 0) before = processor_ms(CLOCK_PROCESS_CPUTIME_ID) - processor_ms(CLOCK_THREAD_CPUTIME_ID);
    nanosleep(&pause, NULL);
  }
  working = processor_ms(CLOCK_PROCESS_CPUTIME_ID) - processor_ms(CLOCK_THREAD_CPUTIME_ID) - before;
  CHECK(working < kRuns / 2.0); /* spinning takes up to 2 ms of each pause */
  gart_invocation_free(invocation);
  gart_program_free(program);
  return 0;
}

/* y[i] = 2 data[number of the string]. */
static int check_strings(const char* path) {
  static const float data[2] = {1, 2};
  static const char* const texts[3] = {"dog", "ape", "dog"};
  const gart_tensor numbers = {data, GART_F32, 1, {2}, NULL}, strings = {texts, GART_STRING, 1, {3}, NULL};
  gart_program* program = NULL;
  gart_invocation* invocation = NULL;
  gart_tensor result;
  CHECK(gart_load(path, NULL, &program) == GART_OK && gart_input_dtype(program, 1) == GART_STRING);
  const gart_tensor_info* info = gart_entry_input(program, NULL, 1);
  CHECK(strcmp(gart_info_string(info, 1), "dog") == 0 && gart_info_string(info, 2) == NULL);
  CHECK(gart_info_string(gart_entry_input(program, NULL, 0), 0) == NULL && gart_info_string(NULL, 0) == NULL);
  CHECK(gart_invocation_new(program, NULL, &invocation) == GART_OK);
  CHECK(gart_set_input(invocation, 0, &numbers) == GART_OK && gart_set_input(invocation, 1, &strings) == GART_OK);
  CHECK(gart_run(invocation) == GART_OK && gart_get_output(invocation, 0, &result) == GART_OK);
  CHECK(((const float*)result.data)[0] == 4.0f && ((const float*)result.data)[1] == 2.0f);
  gart_invocation_free(invocation);
  gart_program_free(program);
  return 0;
}

int main(int argc, char** argv) {
  gart_program* program = NULL;
  gart_invocation* invocation = NULL;
  const gart_load_options options = {.size = sizeof options, .threads = 2};
  CHECK(argc == 3);
  CHECK(gart_load(argv[1], &options, &program) == GART_OK);
  CHECK(gart_invocation_new(program, NULL, &invocation) == GART_OK);
  if (check_description(program) != 0 || check_runs(invocation) != 0 || check_errors(argv[1], program, invocation) != 0)
    return 1;
  if (check_entry_points(argv[1], program) != 0 || check_memory(invocation) != 0) return 1;
  if (check_verification(argv[1]) != 0 || check_waiting(argv[1]) != 0 || check_strings(argv[2]) != 0) return 1;
  gart_program_free(program);
  CHECK(gart_run(invocation) == GART_OK);
  gart_invocation_free(invocation);
  gart_invocation_free(NULL);
  gart_program_free(NULL);
  puts("ok");
  return 0;
}
