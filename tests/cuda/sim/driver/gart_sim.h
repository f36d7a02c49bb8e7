/* Control of the simulated driver from within the process: dlsym these in libcuda.so.1. The environment variables of
 * the README do the same for a process as a whole. */
#ifndef GART_TESTS_CUDA_SIM_DRIVER_GART_SIM_H
#define GART_TESTS_CUDA_SIM_DRIVER_GART_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How often since the last gart_sim_forget_counts: a driver function by its exported name, or "calls" (of all),
 * "kernels" (run), "memcpys", "memsets", "graph_launches", "kernel_launches", "graph_instantiations", "graph_updates",
 * "graph_nodes", "graph_edges", "allocations" (of device memory), "host_allocations", "pageable_memcpys", "syncs". */
uint64_t gart_sim_count(const char* name);
void gart_sim_forget_counts(void);

/* "[NAME:]K:CODE", several with commas: the K-th call of NAME (of all calls, where none is named; of kernels run, for
 * "kernels") since the last gart_sim_forget_counts fails with CODE. "" for none. */
void gart_sim_fail(const char* text);

/* The driver forgets the K-th edge ("graph_edges") that a program makes, as if the program had missed it. 0: none. */
void gart_sim_drop_edge(uint64_t k);

/* "first_in", "last_in", "random", "delay" or "mixed", each with ":SEED" or without. 0: not one of these. */
int gart_sim_set_order(const char* text);
void gart_sim_set_memory(size_t bytes);
void gart_sim_set_driver_version(int version);
void gart_sim_set_sm(int sm);

/* What was found wrong, oldest first. The text lives until the next call. */
size_t gart_sim_report_count(void);
const char* gart_sim_take_report(void); /* NULL: no more */

/* "2 allocations, 1 streams", or "" where nothing is alive. The text lives until the next call. */
const char* gart_sim_alive(void);
uint64_t gart_sim_used_bytes(int device);

/* For the simulated libraries. Counts a call of theirs, and returns the status that gart_sim_fail wants for it, or 0.
 */
int gart_sim_call(const char* name);

typedef struct gart_sim_range {
  uint64_t begin, end;
} gart_sim_range;

/* Work on the device: run(data), perhaps several times, then drop(data); it touches these bytes and no others. */
typedef struct gart_sim_work {
  const char* name;
  void (*run)(void* data);
  void (*drop)(void* data);
  void* data;
  const gart_sim_range* reads;
  size_t read_count;
  const gart_sim_range* writes;
  size_t write_count;
} gart_sim_work;

/* Takes `data` over in any case; returns a CUresult. On the stream, or as a node of what it is captured into; as a node
 * of the graph, after the one that was added last. */
int gart_sim_enqueue(void* stream, const gart_sim_work* work);
int gart_sim_add_work(void* graph, const gart_sim_work* work);

/* Brings lost contexts back to life; what they held is gone. */
void gart_sim_revive(void);

#ifdef __cplusplus
}
#endif
#endif
