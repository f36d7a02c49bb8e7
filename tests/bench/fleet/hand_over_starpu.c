/* The graphs of hand_over_bench as StarPU tasks that do nothing, on its CPU workers; the scheduler is STARPU_SCHED's
 * ("eager", "dmda"). */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>

enum { kParts = 1000, kRuns = 50, kMostMicroseconds = 10000000 /* of each graph */ };

static void nothing(void* buffers[], void* arguments) {
  (void)arguments;
  *(int64_t*)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED, .symbol = "gcc_graph_nothing"};
static struct starpu_codelet codelet = {.cpu_funcs = {nothing}, .nbuffers = 1, .modes = {STARPU_RW}, .model = &model};

/* How the tasks lie: a chain where `chained`, by turns on `workers` workers. */
static double microseconds_per_part(int chained, int workers) {
  static int64_t values[kParts];
  static starpu_data_handle_t handles[kParts];
  double best = 1e30;
  for (int i = 0; i < kParts; ++i)
    starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
  const double end = starpu_timing_now() + kMostMicroseconds;
  for (int run = 0; run < kRuns && (run == 0 || starpu_timing_now() < end); ++run) {
    const double begin = starpu_timing_now();
    for (int i = 0; i < kParts; ++i)
      starpu_task_insert(&codelet, STARPU_RW, handles[chained ? 0 : i], STARPU_EXECUTE_ON_WORKER, i % workers, 0);
    starpu_task_wait_for_all();
    const double time = (starpu_timing_now() - begin) / kParts;
    if (time < best) best = time;
  }
  for (int i = 0; i < kParts; ++i) starpu_data_unregister(handles[i]);
  return best;
}

int main(void) {
  if (starpu_init(NULL) != 0) return 1;
  const int workers = starpu_cpu_worker_get_count() >= 2 ? 2 : 1;
  printf("chain on one device: %.3f us per part\n", microseconds_per_part(1, 1));
  printf("chain by turns on two: %.3f us per part\n", microseconds_per_part(1, workers));
  printf("beside each other on two: %.3f us per part\n", microseconds_per_part(0, workers));
  starpu_shutdown();
  return 0;
}
