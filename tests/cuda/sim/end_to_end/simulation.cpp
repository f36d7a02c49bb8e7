#include "tests/cuda/sim/end_to_end/simulation.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gart_sim {
namespace {

void* driver = nullptr;

template <class R = void, class... A>
R call(const char* name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(dlsym(driver, name))(arguments...);
}

}  // namespace

void enter_simulation(int sm) {
  setenv("GCC_GRAPH_NVRTC", GART_SIM_LIBNVRTC, 1);
  // Once the library is loaded here, every later dlopen of "libcuda.so.1" finds it, because the loader compares library
  // names.
  driver = dlopen(GART_SIM_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
  call("gart_sim_set_sm", sm);
}

std::filesystem::path simulation_cache() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(GART_SIM_SHIM_FOLDER)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  uint64_t hash = 14695981039346656037ULL;
  for (const auto& path : files) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    for (const char c : text.str()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return std::filesystem::path(GART_SIM_CACHE) / std::to_string(hash);
}

uint64_t sim_count(const char* name) { return call<uint64_t>("gart_sim_count", name); }
void sim_forget_counts() { call("gart_sim_forget_counts"); }
void sim_fail(const std::string& text) { call("gart_sim_fail", text.c_str()); }
void sim_set_order(const std::string& text) { call<int>("gart_sim_set_order", text.c_str()); }
void sim_set_sm(int sm) { call("gart_sim_set_sm", sm); }
void sim_revive() { call("gart_sim_revive"); }
std::string sim_alive() { return call<const char*>("gart_sim_alive"); }

std::vector<std::string> sim_reports() {
  std::vector<std::string> reports;
  while (const char* text = call<const char*>("gart_sim_take_report")) reports.emplace_back(text);
  return reports;
}

}  // namespace gart_sim
