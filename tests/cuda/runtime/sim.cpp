#include "tests/cuda/runtime/sim.h"

#include <dlfcn.h>

#include <stdexcept>

namespace gart::test {
namespace {

constexpr size_t kMemory = size_t{1} << 30;

template <class F>
void bind(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("libcuda.so.1 is not the simulation: no ") + name);
}

Sim open() {
  setenv("GART_SIM_EXEC_OVERLAP", "1", 1);  // a run may be enqueued before the previous one has ended
  setenv("GART_SIM_DEVICES", "2", 1);
  setenv("GART_SIM_QUIET", "1", 1);
  Sim sim = {};
  sim.driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (sim.driver == nullptr) throw std::runtime_error(dlerror());
  bind(sim.driver, sim.count, "gart_sim_count");
  bind(sim.driver, sim.forget_counts, "gart_sim_forget_counts");
  bind(sim.driver, sim.fail, "gart_sim_fail");
  bind(sim.driver, sim.set_order, "gart_sim_set_order");
  bind(sim.driver, sim.set_memory, "gart_sim_set_memory");
  bind(sim.driver, sim.set_driver_version, "gart_sim_set_driver_version");
  bind(sim.driver, sim.set_sm, "gart_sim_set_sm");
  bind(sim.driver, sim.take_report, "gart_sim_take_report");
  bind(sim.driver, sim.alive, "gart_sim_alive");
  bind(sim.driver, sim.revive, "gart_sim_revive");
  return sim;
}

}  // namespace

Sim& Sim::get() {
  static Sim sim = open();
  return sim;
}

std::vector<std::string> Sim::reports() {
  std::vector<std::string> out;
  while (const char* text = take_report()) out.emplace_back(text);
  return out;
}

void Sim::begin(const char* order) {
  fail("");
  revive();
  set_memory(kMemory);
  set_driver_version(13000);
  set_sm(80);
  EXPECT_EQ(set_order(order), 1) << order;
  reports();
  forget_counts();
}

void Sim::end() {
  fail("");
  EXPECT_EQ(reports(), std::vector<std::string>{});
  EXPECT_STREQ(alive(), "");
}

}  // namespace gart::test
