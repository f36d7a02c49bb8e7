// Runs every variant of every row of tests/ops as CUDA kernels. The one-node graph goes through the whole
// compiler, and the runtime runs the artifact on the simulated GPU, which checks memory, threads and the order of
// work.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "codegen/cuda/cuda_backend.h"
#include "tests/cuda/sim/end_to_end/simulation.h"
#include "tests/gpu/variant_on_gpu.h"

namespace gcg::test {
namespace {

constexpr const char* kTarget = "sm_80";

// Each kernel needs a run of the host's compiler, and some tests have a row per type. So after the first rows only a
// sample runs, unless $GART_SIM_ALL_ROWS is set.
bool is_taken() {
  static const bool all = std::getenv("GART_SIM_ALL_ROWS") != nullptr;
  static const testing::TestInfo* test = nullptr;
  static int forms = 0;
  const testing::TestInfo* now = testing::UnitTest::GetInstance()->current_test_info();
  if (std::exchange(test, now) != now) forms = 0;
  const int variant = forms++;
  return all || variant < 12 || variant % 23 == 0;
}

int forms_checked = 0;

void check_simulated(const RowVariant& variant) {
  if (!is_taken()) return;
  ++forms_checked;
  static const Backends backends = [] {
    Backends all;
    all.push_back(cuda::make_cuda_backend(gart_sim::simulation_cache()));
    return all;
  }();
  check_variant_on_gpu(variant, kTarget, backends);
  for (const std::string& report : gart_sim::sim_reports()) ADD_FAILURE() << report;
  EXPECT_EQ(gart_sim::sim_alive(), "");
  gart_sim::sim_revive();
}

/// Prints the number of variants at the end; check_all_rows.sh adds the numbers up.
class CountForms : public testing::EmptyTestEventListener {
  void OnTestProgramEnd(const testing::UnitTest&) override { std::cout << "forms: " << forms_checked << std::endl; }
};

const bool hooked = [] {
  gart_sim::enter_simulation(80);
  check_form_further = check_simulated;
  testing::UnitTest::GetInstance()->listeners().Append(new CountForms);
  return true;
}();

TEST(SimulatedOps, RunOnTheSimulatedGpu) { EXPECT_TRUE(hooked); }

}  // namespace
}  // namespace gcg::test
