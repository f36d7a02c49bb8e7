// What the simulation finds wrong: kept, counted and printed to stderr ($GART_SIM_QUIET=1: not printed).
#ifndef GART_TESTS_CUDA_SIM_ENGINE_REPORT_H
#define GART_TESTS_CUDA_SIM_ENGINE_REPORT_H

#include <string>
#include <vector>

namespace gart_sim {

// The first word of a report, for tests to look for.
enum class Finding {
  api_misuse,     // An argument, handle or struct that the driver would refuse or that is not zero where it must be.
  out_of_bounds,  // A kernel touches memory outside every allocation, or freed memory, or the guard zones.
  uninitialised,  // Device memory is read that nothing has written.
  misaligned,     // An address that is not aligned for the access.
  shared_race,    // Two threads of a block touch the same shared byte, one writes, no barrier between.
  block_race,     // The same for two blocks of a launch and device memory.
  divergence,     // A barrier or collective that not all of its threads reach.
  async_copy,     // A misused asynchronous copy.
  registers,      // Registers taken that nobody has given.
  async_product,  // A misused product of a warpgroup.
  graph_race,     // Two operations that no edge, stream or event orders touch the same byte, one writes.
  exec_overlap,   // A graph launched while its last launch runs.
  trap,           // __trap() or a failed assert.
  leak,           // Something not freed.
};
const char* name_of(Finding finding);

void report(Finding finding, std::string text);
std::vector<std::string> take_reports();  // All so far, oldest first; forgets them.
size_t report_count();

}  // namespace gart_sim
#endif
