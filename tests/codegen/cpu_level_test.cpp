// A level of CPUs is one row: this file adds a level without touching another file.
#include <gtest/gtest.h>

#include "artifact_schema/cpu_features.h"
#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/gir/gir.h"
#include "compiler/kernel/cpu_levels.h"
#include "compiler/kernel/machine.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

constexpr const char* kName = "x86-64-v3-avxvnni";
constexpr uint64_t kFeatures = gart::kFeaturesX86_64v3 | gart::kCpuAvx512Vnni;

/// AVX2 with VNNI: an example of a level that the table does not have.
Target added_target() {
  if (find_cpu_level(kName) == nullptr)
    add_cpu_level({.name = kName,
                   .features = kFeatures,
                   .isa = Isa::avx2,
                   .llvm_cpu = "x86-64-v3",
                   .llvm_features = "+avxvnni",
                   .multiplies_bytes = true,
                   .is_default = CpuLevel::Default::bytes,
                   .also_called = {"alderlake"}});
  return *find_target(kName);
}

Graph product_of_bytes() {
  return parse_graph(R"(graph g(%x: u8[m,64]) -> (%y) {
    constant %w: i8[64,96] = random(1)
    %y = MatMulInteger(%x, %w)
  })");
}

TEST(CpuLevels, AnAddedLevelIsKnownByItsRow) {
  const Target target = added_target();
  EXPECT_EQ(target.device, DeviceClass::cpu);
  EXPECT_EQ(machine_of(target).vector_bytes, 32);
  EXPECT_EQ(best_cpu_level(kFeatures)->name, kName);
  EXPECT_EQ(best_cpu_level(gart::kFeaturesX86_64v4Amx)->name, "x86-64-v4-amx");
  EXPECT_EQ(require_targets({kName}).front().name, kName);
  try {
    require_targets({"AlderLake"});
    FAIL() << "'AlderLake' is not a target";
  } catch (const CompileError& e) {
    EXPECT_NE(std::string(e.what()).find(std::string("did you mean '") + kName), std::string::npos) << e.what();
  }
  const std::vector<std::string> floats = default_cpu_levels(false, false), bytes = default_cpu_levels(true, false);
  EXPECT_EQ(std::count(floats.begin(), floats.end(), kName), 0);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), kName), 1);
}

TEST(CpuLevels, AnAddedLevelCompiles) {
  const Target target = added_target();
  CompileOptions options;
  options.targets = {"x86-64-v3", target.name};
  Backends backends;
  backends.push_back(cpu::make_cpu_backend());
  const std::vector<uint8_t> artifact = compile(product_of_bytes(), "", options, backends).artifact;
  const std::string bytes(artifact.begin(), artifact.end());
  EXPECT_NE(bytes.find(kName), std::string::npos);
}

TEST(CpuLevels, AnAddedLevelHasTheCodeThatItsRowSays) {
  const Target target = added_target(), below = *find_target("x86-64-v3");
  std::string printed[2];
  for (const Target* t : {&below, &target}) {
    CompileOptions options;
    std::ostringstream out;
    options.targets = {t->name};
    options.print_source = true;
    options.passes.out = &out;
    options.passes.stop_after = "plan";
    Backends backends;
    backends.push_back(cpu::make_cpu_backend());
    compile(product_of_bytes(), "", options, backends);
    printed[t == &target] = out.str();
  }
  EXPECT_EQ(printed[0].find("vpdpbusd"), std::string::npos);
  EXPECT_NE(printed[1].find("vpdpbusd.256"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
