// Loads the simulated CUDA machine into this process, before the compiler or the runtime look for a real one.
#ifndef GART_TESTS_CUDA_SIM_END_TO_END_SIMULATION_H
#define GART_TESTS_CUDA_SIM_END_TO_END_SIMULATION_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gart_sim {

// After this call, NVRTC is the simulated compiler and libcuda.so.1 the simulated driver, with a GPU of architecture
// `sm`.
void enter_simulation(int sm);
// The folder for the simulation's compiled kernels; each version of the simulation has its own folder.
std::filesystem::path simulation_cache();

// See driver/gart_sim.h.
uint64_t sim_count(const char* name);
void sim_forget_counts();
void sim_fail(const std::string& text);
void sim_set_order(const std::string& text);
/// From now on, the GPU has the architecture `sm`, for example 86.
void sim_set_sm(int sm);
void sim_revive();
std::string sim_alive();
std::vector<std::string> sim_reports();

}  // namespace gart_sim
#endif
