// Kernels with AMX tiles: their code, and the conditions for choosing them. matmul_bytes_test, half_weights_test and
// conv_bytes_test check their results.
#include <gtest/gtest.h>

#include <sstream>

#include "codegen/cpu/compile_kernel.h"
#include "tests/codegen/conv_harness.h"
#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

constexpr int64_t panel = 48;
constexpr const char* kTarget = "x86-64-v4-amx";

/// C[m, n] = A[m, k] * B[k, n]: u8 by i8, or f32 by bf16.
Kernel product(const Dim& m, int64_t n, int64_t k, bool bytes) {
  MatMulKernel body;
  body.m = Axis{1, m};
  body.n = Axis{2, Dim(n)};
  body.k = Axis{3, Dim(k)};
  body.a = {0, 0, {}, Dim(k), 1};
  body.b = {1, 0, {}, 0, 0};
  body.packed_columns = panel;
  body.result = 2;
  body.index = {axis_ref(body.m), axis_ref(body.n)};
  body.epilogue = accumulator(bytes ? DType::i32 : DType::f32);
  Kernel kernel;
  kernel.name = "product";
  const Dim panels = ceil_div(Dim(n), panel);
  if (bytes)
    kernel.operands = {{DType::u8, {m, Dim(k)}, false}, {DType::i8, {panels, k / 4, panel, 4}, false}};
  else
    kernel.operands = {{DType::f32, {m, Dim(k)}, false}, {DType::bf16, {panels, k, panel}, false}};
  kernel.operands.push_back({bytes ? DType::i32 : DType::f32, {m, Dim(n)}, true});
  kernel.body = body;
  return kernel;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& word) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find(word) != std::string::npos) found.push_back(line);
  return found;
}

std::string assembly_of(const Kernel& kernel) {
  return cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target(kTarget)));
}

TEST(TileCode, KeepsTilesInRegistersAndReleasesThem) {
  cpu::ConvCase conv = cpu::conv_case(64, 14, 64, 3, 1, 1);
  conv.weights = DType::bf16;
  for (const Kernel& kernel : {product(96, 96, 1024, true), product(Dim::symbol("m"), 100, 1100, true),
                               product(96, 96, 1024, false), cpu::make_conv_kernel(conv)}) {
    const std::string text = assembly_of(kernel);
    const auto moved = [&](const char* instruction) {
      const auto lines = lines_with(text, instruction);
      EXPECT_FALSE(lines.empty()) << instruction;
      for (const std::string& line : lines) EXPECT_EQ(line.find("rsp"), std::string::npos) << line;
    };
    moved("tileloadd\t");
    moved("tilestored\t");
    EXPECT_EQ(lines_with(text, "tilerelease").size(), 1U);
    EXPECT_EQ(lines_with(text, "sttilecfg").size(), 0U);
    EXPECT_GT(lines_with(text, "tdpb").size(), 0U);
  }
}

/// Compares the number of AMX instructions that a product of full tiles executes with the predicted number.
TEST(TileCode, RunsAsManyInstructionsAsPredicted) {
  if (!can_run(kTarget)) GTEST_SKIP() << "this machine does not run " << kTarget;
  for (const bool bytes : {true, false}) {
    constexpr int64_t m = 96, n = 96;
    const int64_t k = bytes ? 512 : 256, steps = k / (bytes ? 64 : 32);
    const MappedKernel kernel(product(m, n, k, bytes), kTarget);
    GuardedBuffer a(m * k * 4), b(n * k * 2), c(m * n * 4), scratch(kernel.info().scratch_bytes.evaluate({}));
    const long before = emulated_amx_instructions();
    ASSERT_EQ(
        kernel.run({a.floats(), b.floats(), c.floats()}, kernel.params({}), scratch.floats(), 0, kernel.tasks({})), 0);
    EXPECT_TRUE(amx_is_released());
    const long counted = emulated_amx_instructions() - before;
    if (counted == 0) GTEST_SKIP() << "this CPU has tiles, and nothing is counted";
    // For 32 rows by 48 columns: sums are zeroed or loaded, and stored, once per block of the depth (96 words).
    const int64_t products = m / 32 * (n / 48), blocks = (steps * 16 + 95) / 96;
    EXPECT_EQ(counted, products * (blocks * (6 + 6) + steps * (7 + 6)) + emulated_per_task()) << kernel.info().note;
  }
}

TEST(TileChoice, FewRowsAndOtherTypesTakeVectors) {
  const auto note = [](const Kernel& kernel, const char* target = kTarget) {
    return cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1).kernels.front().note;
  };
  for (const bool bytes : {true, false}) {
    EXPECT_EQ(note(product(4, 96, 256, bytes)).find("tiles"), std::string::npos);
    EXPECT_NE(note(product(5, 96, 256, bytes)).find("tiles"), std::string::npos);
    EXPECT_EQ(note(product(5, 16, 64, bytes)).find("tiles"), std::string::npos) << "too little to multiply";
    EXPECT_EQ(note(product(Dim::symbol("m"), 16, 12, bytes)).find("tiles"), std::string::npos);
    EXPECT_NE(note(product(Dim::symbol("m"), 96, 64, bytes)).find("tiles"), std::string::npos);
    EXPECT_EQ(note(product(64, 96, 64, bytes), "x86-64-v4-bf16").find("tiles"), std::string::npos);
  }
  EXPECT_EQ(note(product(64, 96, 63, false)).find("tiles"), std::string::npos) << "an odd depth has no pairs";
}

}  // namespace
}  // namespace gcg::test
