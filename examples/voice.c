/* A detector with a state that goes from call to call, in C: voice VOICE.gart */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gart/gart.h"

#define SAMPLES 256
#define STATE 64

static int failed(gart_status status) {
  if (status != GART_OK) fprintf(stderr, "%s\n", gart_last_error());
  return status != GART_OK;
}

int main(int argc, char** argv) {
  static float samples[SAMPLES], state[STATE]; /* the state begins with zeros */
  const gart_tensor inputs[2] = {{samples, GART_F32, 2, {1, SAMPLES}, NULL}, {state, GART_F32, 3, {2, 1, 32}, NULL}};
  gart_program* program;
  gart_invocation* invocation;
  gart_tensor speech, new_state;
  if (argc != 2) return fprintf(stderr, "usage: voice VOICE.gart\n"), 1;
  if (failed(gart_load(argv[1], NULL, &program)) || failed(gart_invocation_new(program, NULL, &invocation))) return 1;
  if (failed(gart_set_input_by_name(invocation, "samples", &inputs[0])) ||
      failed(gart_set_input_by_name(invocation, "state", &inputs[1])))
    return 1;
  for (int chunk = 0; chunk < 4; ++chunk) {
    for (int i = 0; i < SAMPLES; ++i) samples[i] = sinf((float)(chunk * SAMPLES + i) * 0.05f);
    if (failed(gart_run(invocation))) return 1; /* inputs are looked at anew by each run */
    if (failed(gart_get_output(invocation, 0, &speech)) || failed(gart_get_output(invocation, 1, &new_state))) return 1;
    printf("chunk %d: speech %.4f\n", chunk, (double)((const float*)speech.data)[0]);
    memcpy(state, new_state.data, sizeof(state));
  }
  gart_invocation_free(invocation);
  gart_program_free(program);
  return 0;
}
