/* The C API of queues of runs, over the same core as queue.hpp; C11. Semantics, threads and lifetimes are those of
 * queue.hpp. libgart_fleet.so, beside libgart.so. gart_fleet_last_error() returns the message of a failure.
 */
#ifndef GART_QUEUE_H
#define GART_QUEUE_H

#include "gart/fleet.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gart_queue gart_queue;

/* An output, or an input by its name. */
typedef struct gart_named_tensor {
  const char* name;
  gart_tensor tensor;
} gart_named_tensor;

/* Called once for each accepted run. `message` is "" if the status is GART_OK. All is valid during the call only. */
typedef void (*gart_done)(void* user, gart_status status, const char* message, const gart_named_tensor* outputs,
                          size_t output_count);

/* `runs`: most at a time, 0: two per device. `waiting`: most that wait. */
GART_C_API gart_status gart_queue_new(const gart_program* program, int runs, size_t waiting, gart_queue** queue);
GART_C_API gart_status gart_queue_new_fleet(const gart_fleet* fleet, int runs, size_t waiting, gart_queue** queue);
/* NULL is allowed. Runs that wait fail; those in progress end first. */
GART_C_API void gart_queue_free(gart_queue* queue);
/* `entry`: NULL for the first, and for fleets. `timeout_us`: 0 for none. `run`: receives the number; may be NULL. */
GART_C_API gart_status gart_queue_submit(const gart_queue* queue, const char* entry, const gart_named_tensor* inputs,
                                         size_t input_count, int64_t timeout_us, gart_done done, void* user,
                                         uint64_t* run);
/* Runs an invocation whose inputs and outputs are set; `done` is called without outputs. */
GART_C_API gart_status gart_queue_submit_invocation(const gart_queue* queue, gart_invocation* invocation,
                                                    int64_t timeout_us, gart_done done, void* user, uint64_t* run);
/* NULL is allowed. */
GART_C_API void gart_queue_cancel(const gart_queue* queue, uint64_t run);
GART_C_API size_t gart_queue_waiting(const gart_queue* queue);

#ifdef __cplusplus
}
#endif
#endif
