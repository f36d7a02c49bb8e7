/* What a user of generation in C writes: prints why a file cannot generate. */
#include <gart/generate.h>
#include <stdio.h>

int main(int argc, char** argv) {
  gart_program* program = NULL;
  gart_session* session = NULL;
  gart_generator* generator = NULL;
  if (argc < 2 || gart_load(argv[1], NULL, &program) != GART_OK) return 1;
  if (gart_session_new(program, &session) != GART_OK) return 1;
  if (gart_generator_new(program, session, NULL, NULL, &generator) == GART_OK) return 1;
  puts(gart_generate_last_error());
  gart_session_free(session);
  gart_program_free(program);
  return 0;
}
