/* The C API of generation, over the same core as generate.hpp; C11. Semantics, threads and lifetimes are those of
 * generate.hpp. libgart_generate.so, beside libgart.so.
 *
 * Every function that can fail returns 0 (GART_OK) or one of gart_status; gart_generate_last_error() then returns the
 * message.
 */
#ifndef GART_GENERATE_H
#define GART_GENERATE_H

#include "gart/gart.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gart_generator gart_generator;

/* All zeros are the defaults: `gart_generate_options options = {sizeof options};`. Numbers: GenerateOptions. */
typedef struct gart_generate_options {
  size_t size;        /* sizeof(gart_generate_options) */
  int64_t max_tokens; /* 0: 128 */
  float temperature;
  int64_t top_k;
  float top_p; /* 0: 1 */
  float min_p;
  float repetition_penalty; /* 0: 1 */
  float presence_penalty;
  uint64_t seed;
  const int64_t* stop_ids;
  size_t stop_id_count;
  int64_t chunk;
  int64_t lookup;
} gart_generate_options;

typedef enum gart_stop_reason { GART_STOP_MAX_TOKENS = 0, GART_STOP_ID = 1, GART_STOP_CALLBACK = 2 } gart_stop_reason;

typedef struct gart_generated {
  size_t count; /* new tokens */
  gart_stop_reason reason;
  double first_token_ms, total_ms;
} gart_generated;

/* Gets each new token; the generation ends if it returns 0. */
typedef int (*gart_on_token)(void* user, int64_t id);

/* The message of the last failure on this thread; "" if nothing failed yet. */
GART_C_API const char* gart_generate_last_error(void);

/* `decode`, `prefill`: entry points; NULL or "" chooses (GenerateEntries). The generator keeps program and session
 * alive. */
GART_C_API gart_status gart_generator_new(const gart_program* program, const gart_session* session, const char* decode,
                                          const char* prefill, gart_generator** generator);
GART_C_API void gart_generator_free(gart_generator* generator); /* NULL is allowed */
/* `options`, `on_token` and `result` may be NULL. */
GART_C_API gart_status gart_generate(gart_generator* generator, const int64_t* ids, size_t count,
                                     const gart_generate_options* options, gart_on_token on_token, void* user,
                                     gart_generated* result);
/* New token `index` of the last generation; -1 past the end. */
GART_C_API int64_t gart_generated_id(const gart_generator* generator, size_t index);
GART_C_API gart_status gart_generator_length(const gart_generator* generator, int64_t* length);
/* Ends the current gart_generate with GART_CANCELLED. Any thread may call it. NULL is allowed. */
GART_C_API void gart_generator_cancel(gart_generator* generator);

#ifdef __cplusplus
}
#endif
#endif
