// The code of ptxas for the tile loop of sm_90a: the registers of each warpgroup, and no instruction that would stall
// the loop of products. Skipped without NVRTC.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/machine_code.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

namespace opcode {
constexpr unsigned kProduct[] = {0x9f0, 0xdf0}, kBoxCopy[] = {0x5b4, 0x3b4}, kBoxStore[] = {0x3b5},
                   kMatrixStore[] = {0x844}, kLoad[] = {0x981}, kStore[] = {0x986};
/// Instructions that stall the loop: barriers of a block, MEMBAR, cp.async, loads and stores of global memory, ELECT.
constexpr unsigned kHoldUp[] = {0xb1d, 0x51d, 0x992, 0xfae, 0x981, 0x986, 0x82f};
}  // namespace opcode

template <size_t Count>
bool is_one(const Instruction& i, const unsigned (&opcodes)[Count]) {
  return std::find(opcodes, opcodes + Count, i.opcode()) != opcodes + Count;
}
template <size_t Count>
std::ptrdiff_t count(const std::vector<Instruction>& code, const unsigned (&opcodes)[Count]) {
  return std::count_if(code.begin(), code.end(), [&](const Instruction& i) { return is_one(i, opcodes); });
}

/// Expects no such instruction between the first product and the wait for the previous step.
void expect_nothing_holds_up(const std::vector<Instruction>& code) {
  const auto first =
      std::find_if(code.begin(), code.end(), [](const Instruction& i) { return is_one(i, opcode::kProduct); });
  const auto wait = std::find_if(first, code.end(), [](const Instruction& i) { return i.waits_for_products(); });
  ASSERT_NE(wait, code.end());
  EXPECT_EQ(wait->products_left(), 1);
  EXPECT_EQ(count({first, wait}, opcode::kProduct), 4);
  EXPECT_EQ(count(code, opcode::kProduct), 4) << "products outside of the loop";
  EXPECT_EQ(count({first, wait}, opcode::kHoldUp), 0);
}

struct CodeCase {
  const char* what;
  bool is_conv;
  bool reads;  // the epilogue reads a tensor in the results' layout
  const char* graph;
};
const CodeCase kCases[] = {
    {"bias and GELU", false, false, R"(graph g(%x: f32[512,1024]) -> (%y) {
      constant %w: f32[1024,768] = random(1)
      constant %b: f32[768] = random(2)
      %a = Neg(%x)
      %p = MatMul(%a, %w)
      %q = Add(%p, %b)
      %g = Gelu(%q)
      %y = Softmax(%g) {axis = -1}
    })"},
    {"bias and residual", false, true, R"(graph g(%x: f16[512,1024], %r: f16[512,768]) -> (%y) {
      constant %w: f16[1024,768] = random(1)
      constant %b: f16[768] = random(2)
      %p = MatMul(%x, %w)
      %q = Add(%p, %b)
      %y = Add(%q, %r)
    })"},
    {"convolution, bias and ReLU", true, false, R"(graph g(%x: f32[8,128,28,28]) -> (%y) {
      constant %w: f32[256,128,3,3] = random(1)
      constant %b: f32[256] = random(2)
      constant %v: f32[64,256,3,3] = random(3)
      %n = Neg(%x)
      %c = Conv(%n, %w, %b) {pads = [1,1,1,1]}
      %r = Relu(%c)
      %y = Conv(%r, %v)
    })"},
};

class TileLoopCode : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    target_ = gpu_target("sm_90a", GetParam());
    if (cuda::Nvrtc::find_for_driver(target_.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  }

  /// The first kernel of the graph that the loop can compute.
  void check(const CodeCase& c) {
    std::string graph = c.graph;
    if (GetParam() == Precision::bf16)
      for (size_t at = 0; (at = graph.find(" f16[", at)) != std::string::npos; at += 2) graph.insert(at + 1, "b");
    const Plan plan = cuda_plan(parse_graph(graph), target_);
    for (const Kernel& kernel : plan.kernels) {
      if (c.is_conv ? !std::holds_alternative<PlainConvKernel>(kernel.body)
                    : !std::holds_alternative<MatMulKernel>(kernel.body))
        continue;
      const auto product = c.is_conv ? cuda::conv_product(kernel) : cuda::matmul_product(kernel);
      const cuda::TileConstraints constraints = cuda::constraints_of(*product, target_);
      ASSERT_EQ(constraints.box_bytes, 2);
      ASSERT_EQ(constraints.reads_boxes, c.reads);
      int tiles = 0;
      for (const cuda::ProductTile& tile : cuda::product_tiles(target_, constraints))
        if (tile.producers > 0) ++tiles, check(kernel, *product, tile);
      EXPECT_EQ(tiles, 8);
      return;
    }
    FAIL() << "no product";
  }

  void check(const Kernel& kernel, const cuda::Product& product, const cuda::ProductTile& tile) {
    SCOPED_TRACE(describe(tile));
    const cuda::KernelText text = cuda::emit_product(kernel, product, tile, "product");
    const cuda::CubinCache cache{std::filesystem::path()};
    const cuda::AssembledProgram assembled =
        cuda::Assembler(target_, cache).assemble(text.source, text.least_registers);
    const cuda::Usage usage = cuda::usage_of(assembled.log);
    EXPECT_TRUE(usage.notes.empty()) << assembled.log;
    EXPECT_EQ(usage.spill_bytes, 0);
    EXPECT_GE(usage.registers, text.least_registers);
    const std::vector<Instruction> code = instructions_of(assembled.code);
    expect_nothing_holds_up(code);
    EXPECT_GE(count(code, opcode::kBoxCopy), 2);
    EXPECT_EQ(count(code, opcode::kBoxStore), tile.columns / 64);
    EXPECT_EQ(count(code, opcode::kMatrixStore), tile.columns / 16);
    EXPECT_EQ(count(code, opcode::kStore), 0);
    // Reads the bias for two columns at a time.
    EXPECT_LE(count(code, opcode::kLoad), tile.columns / 8);
  }

  Target target_;
};
INSTANTIATE_TEST_SUITE_P(Precisions, TileLoopCode, testing::Values(Precision::fp16, Precision::bf16));

TEST_P(TileLoopCode, NothingHoldsProductsUp) {
  for (const CodeCase& c : kCases) {
    SCOPED_TRACE(c.what);
    check(c);
  }
}

}  // namespace
}  // namespace gcg::test
