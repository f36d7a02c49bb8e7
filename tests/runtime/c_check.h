/* What tests in C share. */
#ifndef GART_TESTS_RUNTIME_C_CHECK_H
#define GART_TESTS_RUNTIME_C_CHECK_H

#include <stdio.h>

#include "gart/gart.h"

/* Says what failed and why, and returns 1 from the function. */
#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, gart_last_error()); \
      return 1;                                                                              \
    }                                                                                        \
  } while (0)

#endif
