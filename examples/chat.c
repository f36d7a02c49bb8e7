/* Generates tokens with a language model, in C: chat CHAT.gart ID... (gcc-graph compile --state auto has made the file)
 */
#include <stdio.h>
#include <stdlib.h>

#include "gart/generate.h"

static int print(void* user, int64_t id) {
  (void)user;
  printf("%lld ", (long long)id);
  return 1; /* go on */
}

static int failed(gart_status status, const char* message) {
  if (status != GART_OK) fprintf(stderr, "%s\n", message);
  return status != GART_OK;
}

int main(int argc, char** argv) {
  int64_t ids[64];
  gart_program* program;
  gart_session* session;
  gart_generator* generator;
  gart_generated done;
  gart_generate_options options = {sizeof options};
  if (argc < 3 || argc > 66) return fprintf(stderr, "usage: chat CHAT.gart ID...\n"), 1;
  for (int i = 2; i < argc; ++i) ids[i - 2] = atoll(argv[i]);
  if (failed(gart_load(argv[1], NULL, &program), gart_last_error())) return 1;
  if (failed(gart_session_new(program, &session), gart_last_error())) return 1;
  if (failed(gart_generator_new(program, session, NULL, NULL, &generator), gart_generate_last_error())) return 1;
  options.max_tokens = 8;
  size_t count = (size_t)argc - 2;
  for (int turn = 0; turn < 2; ++turn) { /* the second turn goes on with the last token, which was not read yet */
    if (failed(gart_generate(generator, ids, count, &options, print, NULL, &done), gart_generate_last_error()))
      return 1;
    printf("\n");
    ids[0] = gart_generated_id(generator, done.count - 1);
    count = 1;
  }
  gart_generator_free(generator);
  gart_session_free(session);
  gart_program_free(program);
  return 0;
}
