/* What a user of the C API writes. */
#include <gart/gart.h>
#include <stdio.h>

int main(int argc, char** argv) {
  gart_program* model = NULL;
  if (argc < 2 || gart_load(argv[1], NULL, &model) != GART_OK) return fprintf(stderr, "%s\n", gart_last_error()), 1;
  for (size_t i = 0; i < gart_input_count(model); ++i) printf("in %s\n", gart_input_name(model, i));
  for (size_t i = 0; i < gart_output_count(model); ++i) printf("out %s\n", gart_output_name(model, i));
  gart_program_free(model);
  return 0;
}
