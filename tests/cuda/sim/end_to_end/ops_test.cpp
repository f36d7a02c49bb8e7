// Every form of every row of tests/ops, once more as CUDA kernels: its one-node graph goes through the whole compiler,
// and the runtime runs the artifact on the simulated GPU, whose memory, threads and order of work are watched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "codegen/cuda/cuda_backend.h"
#include "compiler/compile.h"
#include "compiler/support/unsupported.h"
#include "gart/gart.hpp"
#include "tests/cuda/sim/end_to_end/simulation.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr const char* kTarget = "sm_80";

gart::TensorView view(const Tensor& t) {
  return {t.data(), static_cast<gart::DType>(t.dtype()), gart::Shape(std::span<const int64_t>(t.shape()))};
}

Tensor tensor_of(const gart::Tensor& t) {
  const auto extents = t.shape().extents();
  Tensor out(static_cast<DType>(t.dtype()), {extents.begin(), extents.end()});
  EXPECT_EQ(static_cast<int64_t>(t.bytes()), out.bytes());
  if (out.bytes() > 0) std::memcpy(out.mutable_data(), t.data(), static_cast<size_t>(out.bytes()));
  return out;
}

// The artifact, or nothing where the compiler may refuse the form: compiled_ops_test checks what it refuses.
std::vector<uint8_t> compile_form(const RowForm& form) {
  static const Backends backends = [] {
    Backends all;
    all.push_back(cuda::make_cuda_backend(gart_sim::simulation_cache()));
    return all;
  }();
  CompileOptions options;
  options.targets = {kTarget};
  try {
    return compile(form.graph.clone(), "", options, backends).artifact;
  } catch (const UnsupportedModel&) {
  } catch (const CompileError& e) {
    ADD_FAILURE() << "compiling: " << e.what();
  }
  return {};
}

std::vector<Tensor> run(const std::vector<uint8_t>& artifact, const std::vector<Tensor>& inputs) {
  gart::LoadOptions options;
  options.device = "cuda";
  auto program = gart::load(std::span<const uint8_t>(artifact), options);
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return {};
  }
  std::vector<gart::TensorView> views;
  for (const Tensor& t : inputs) views.push_back(view(t));
  auto outputs = program->run(std::span<const gart::TensorView>(views));
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  std::vector<Tensor> result;
  for (const gart::Tensor& t : *outputs) result.push_back(tensor_of(t));
  return result;
}

// Every kernel costs a run of the host's compiler, and some tests have a row per type: of those beyond the first ones,
// only some are taken, unless $GART_SIM_ALL_ROWS is set.
bool is_taken() {
  static const bool all = std::getenv("GART_SIM_ALL_ROWS") != nullptr;
  static const testing::TestInfo* test = nullptr;
  static int forms = 0;
  const testing::TestInfo* now = testing::UnitTest::GetInstance()->current_test_info();
  if (std::exchange(test, now) != now) forms = 0;
  const int form = forms++;
  return all || form < 12 || form % 23 == 0;
}

// The compiler makes these for CPUs alone.
bool is_for_cpus(const std::string& op) { return op == "BlockedConv" || op == "PackedMatMul"; }

// Convolutions on GPUs are products that multiply the padding's zeros, as those of the GPU's libraries do: next to an
// infinite weight they give NaN.
bool multiplies_padding(const RowForm& form) { return form.row.what == "infinite weight on the border"; }

void check_simulated(const RowForm& form) {
  if (!is_taken() || is_for_cpus(form.row.op) || multiplies_padding(form)) return;
  const std::vector<uint8_t> artifact = compile_form(form);
  if (artifact.empty()) return;
  std::vector<Tensor> inputs;
  for (const OpInput& in : form.row.inputs)
    if (!in.constant && !in.omitted) inputs.push_back(in.tensor);
  const std::vector<Tensor> got = run(artifact, inputs);
  for (size_t i = 0; i < std::min(got.size(), form.want.size()); ++i)
    expect_near(got[i], form.want[i], form.row.tolerance, concat(kTarget, ", output ", i));
  for (const std::string& report : gart_sim::sim_reports()) ADD_FAILURE() << report;
  EXPECT_EQ(gart_sim::sim_alive(), "");
  gart_sim::sim_revive();
}

const bool hooked = [] {
  gart_sim::enter_simulation(80);
  check_form_further = check_simulated;
  return true;
}();

TEST(SimulatedOps, RunOnTheSimulatedGpu) { EXPECT_TRUE(hooked); }

}  // namespace
}  // namespace gcg::test
