/* A model with an operator of the application's own, in C: custom_op CLIPPED.gart */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gart/gart.h"

/* acme::Median(f32[n, c]) -> f32[n]; workspace 4*c, the attribute "ceiling": the median of each row, at most the ceiling. */
static int ascending(const void* a, const void* b) { return (*(const float*)a > *(const float*)b) - (*(const float*)a < *(const float*)b); }

static int32_t median(void* user, const gart_op_call* call) {
  const gart_op_tensor x = call->inputs[0];
  const int64_t rows = x.dims[0], columns = x.dims[1];
  float* sorted = call->workspace;
  float ceiling;
  if (columns == 0 || sscanf(call->attributes, "{\"ceiling\": %f", &ceiling) != 1) return 1;
  for (int64_t i = 0; i < rows; ++i) {
    memcpy(sorted, (const float*)x.data + i * columns, (size_t)columns * sizeof(float));
    qsort(sorted, (size_t)columns, sizeof(float), ascending);
    ((float*)call->outputs[0].data)[i] = sorted[columns / 2] < ceiling ? sorted[columns / 2] : ceiling;
  }
  ++*(int*)user;
  return 0;
}

static int failed(gart_status status) {
  if (status != GART_OK) fprintf(stderr, "%s\n", gart_last_error());
  return status != GART_OK;
}

int main(int argc, char** argv) {
  static const float samples[3][5] = {{1, 2, 3, 4, 5}, {-1, 0.5f, -2, 7, 0}, {9, 8, 7, 6, 5}};
  const gart_tensor input = {samples, GART_F32, 2, {3, 5}, NULL};
  int calls = 0;
  const gart_custom_op ops[] = {{"acme::Median", median, &calls}};
  gart_load_options options = {0};
  gart_program* program;
  gart_invocation* invocation;
  gart_tensor output;
  if (argc != 2) return fprintf(stderr, "usage: custom_op CLIPPED.gart\n"), 1;
  if (gart_load(argv[1], NULL, &program) != GART_UNSUPPORTED) return fprintf(stderr, "loaded without the function\n"), 1;
  options.size = sizeof(options);
  options.custom_ops = ops;
  options.custom_op_count = 1;
  if (failed(gart_load(argv[1], &options, &program)) || failed(gart_invocation_new(program, NULL, &invocation))) return 1;
  if (failed(gart_set_input(invocation, 0, &input)) || failed(gart_run(invocation)) || failed(gart_get_output(invocation, 0, &output)))
    return 1;
  for (int i = 0; i < 3; ++i) printf("row %d: %.2f\n", i, (double)((const float*)output.data)[i]);
  gart_invocation_free(invocation);
  gart_program_free(program);
  return calls == 1 ? 0 : 1;
}
