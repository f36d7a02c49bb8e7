// The findings of the simulation: kept, counted and printed to stderr (unless $GART_SIM_QUIET=1).
#ifndef GART_TESTS_CUDA_SIM_ENGINE_REPORT_H
#define GART_TESTS_CUDA_SIM_ENGINE_REPORT_H

#include <string>
#include <vector>

namespace gart_sim {

// The first word of a report; tests look for it.
enum class Finding {
  api_misuse,     // an argument, handle or struct that the driver would refuse, or bytes that must be zero
  out_of_bounds,  // a kernel touches memory outside every allocation, freed memory, or the guard zones
  uninitialised,  // a read of device memory that nothing has written
  misaligned,     // an address that is not aligned for the access
  shared_race,    // two threads of a block touch the same shared byte, one of them writes, and no barrier is between
  block_race,     // the same for two blocks of a launch and device memory
  divergence,     // a barrier or collective that not all of its threads reach
  async_copy,     // a misused asynchronous copy
  registers,      // a warpgroup takes registers that no warpgroup has given
  async_product,  // a misused product of a warpgroup
  graph_race,     // two operations touch the same byte, one of them writes, and no edge, stream or event orders them
  exec_overlap,   // a graph launched while its last launch runs
  trap,           // __trap() or a failed assert
  leak,           // an object that was not freed
};
const char* name_of(Finding finding);

void report(Finding finding, std::string text);
std::vector<std::string> take_reports();  // Returns all findings so far, oldest first, and forgets them.
size_t report_count();

}  // namespace gart_sim
#endif
