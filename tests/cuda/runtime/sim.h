// The simulated driver's control functions, and a fixture that requires no misuse and no live objects at the end.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cuda/sim/driver/gart_sim.h"

namespace gart::test {

/// The functions of gart_sim.h, from the libcuda.so.1 that libgart opens.
struct Sim {
  static Sim& get();
  decltype(&gart_sim_count) count;
  decltype(&gart_sim_forget_counts) forget_counts;
  decltype(&gart_sim_fail) fail;
  decltype(&gart_sim_set_order) set_order;
  decltype(&gart_sim_set_memory) set_memory;
  decltype(&gart_sim_set_driver_version) set_driver_version;
  decltype(&gart_sim_set_sm) set_sm;
  decltype(&gart_sim_take_report) take_report;
  decltype(&gart_sim_alive) alive;
  decltype(&gart_sim_revive) revive;
  void* driver;  // the handle from dlopen

  std::vector<std::string> reports();
  /// Resets the simulation to an intact sm_80 and zero counts. Unordered work runs in this order.
  void begin(const char* order = "mixed:1");
  /// Expects no findings and no live objects.
  void end();
};

/// Each test begins with an intact sm_80 and zero counts, and ends with no findings and no live objects.
class OnSim : public testing::Test {
 protected:
  void SetUp() override { sim.begin(); }
  void TearDown() override { sim.end(); }
  Sim& sim = Sim::get();
};

}  // namespace gart::test
